"""An edition as a document: RSS 2.0, RSS 1.0, Atom 1.0 and JSON Feed 1.1."""

from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from html import escape
from typing import Final, assert_never

import msgspec

from feedmill_demo.edition import Article, DemoFormat, Edition


def render_feed(edition: Edition) -> bytes:
    """The document's octets, in the encoding of its style."""
    text = _WRITERS[edition.kind](edition)
    return text.encode(edition.style.encoding, "xmlcharrefreplace")


def http_date(moment: datetime) -> str:
    """The date as HTTP and RSS write it, in GMT."""
    return format_datetime(moment.replace(microsecond=0), usegmt=True)


def _rss20(edition: Edition) -> str:
    podcast = (
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
        ' xmlns:podcast="https://podcastindex.org/namespace/1.0"'
    )
    return (
        f'{_declaration(edition)}<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        f"{podcast if edition.style.podcast else ''}>\n<channel>\n"
        f"<title>{_text(edition.title)}</title>\n<link>{_text(edition.home)}</link>\n"
        f'<atom:link href="{_text(edition.address)}" rel="self" type="application/rss+xml"/>\n'
        f"<description>{_text(edition.about)}</description>\n"
        f"<language>{edition.language}</language>\n"
        f"<lastBuildDate>{http_date(edition.changed_at)}</lastBuildDate>\n"
        f"{_show(edition) if edition.style.podcast else ''}{edition.style.channel_extra}"
        f"{''.join(_rss20_item(edition, guid, article) for guid, article in edition.entries)}"
        "</channel>\n</rss>\n"
    )


def _rss20_item(edition: Edition, guid: str | None, article: Article) -> str:
    permalink = "true" if edition.style.ids == "permalink" else "false"
    lines = [
        f"<title>{_text(article.title)}</title>",
        f"<link>{_text(article.link)}</link>",
        f'<guid isPermaLink="{permalink}">{_text(guid)}</guid>' if guid is not None else "",
        f"<pubDate>{http_date(article.published_at)}</pubDate>" if _dated(edition) else "",
        f"<dc:creator>{_text(article.author)}</dc:creator>",
        *(f"<category>{_text(tag)}</category>" for tag in article.tags),
        f"<description>{_text(article.summary)}</description>",
        f"<content:encoded><![CDATA[{article.html}]]></content:encoded>",
        _episode(edition, article) if edition.style.podcast else "",
    ]
    return "<item>\n" + "".join(f"{line}\n" for line in lines if line) + "</item>\n"


def _show(edition: Edition) -> str:
    return (
        "<itunes:author>The village radio</itunes:author>\n<itunes:explicit>false</itunes:explicit>\n"
        f'<itunes:image href="{edition.home}cover.png"/>\n<itunes:category text="Society"/>\n'
        "<itunes:type>episodic</itunes:type>\n<podcast:locked>yes</podcast:locked>\n"
        "<podcast:guid>5c9c5a4e-8b0e-5b6a-9d55-1f1c3a7c2b11</podcast:guid>\n"
    )


def _episode(edition: Edition, article: Article) -> str:
    size = 1_000_000 + 7919 * article.number
    return (
        f'<enclosure url="{edition.home}audio/{article.number}.mp3" length="{size}" type="audio/mpeg"/>\n'
        f"<itunes:duration>{20 + article.number % 40}:{article.number % 60:02}</itunes:duration>\n"
        f"<itunes:episode>{article.number + 1}</itunes:episode>\n<itunes:season>1</itunes:season>\n"
        f'<podcast:transcript url="{edition.home}transcripts/{article.number}.vtt" type="text/vtt"/>\n'
        f'<podcast:person role="host">{_text(article.author)}</podcast:person>'
    )


def _rss10(edition: Edition) -> str:
    places = "".join(f'<rdf:li rdf:resource="{_text(a.link)}"/>' for _, a in edition.entries)
    return (
        f'{_declaration(edition)}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">\n'
        f'<channel rdf:about="{_text(edition.address)}">\n<title>{_text(edition.title)}</title>\n'
        f"<link>{_text(edition.home)}</link>\n<description>{_text(edition.about)}</description>\n"
        f"<dc:language>{edition.language}</dc:language>\n{edition.style.channel_extra}"
        f"<items><rdf:Seq>{places}</rdf:Seq></items>\n</channel>\n"
        f"{''.join(_rss10_item(edition, article) for _, article in edition.entries)}</rdf:RDF>\n"
    )


def _rss10_item(edition: Edition, article: Article) -> str:
    date = f"<dc:date>{article.published_at.isoformat()}</dc:date>\n" if _dated(edition) else ""
    subjects = "".join(f"<dc:subject>{_text(tag)}</dc:subject>\n" for tag in article.tags)
    return (
        f'<item rdf:about="{_text(article.link)}">\n<title>{_text(article.title)}</title>\n'
        f"<link>{_text(article.link)}</link>\n<description>{_text(article.summary)}</description>\n"
        f"<dc:creator>{_text(article.author)}</dc:creator>\n{date}{subjects}</item>\n"
    )


def _atom10(edition: Edition) -> str:
    base = f' xml:base="{_text(edition.home)}"' if edition.style.base else ""
    stones = "".join(
        f'<at:deleted-entry ref="{_text(gone.guid)}" when="{gone.at.isoformat()}">'
        "<at:comment>Withdrawn by the editor</at:comment></at:deleted-entry>\n"
        for gone in edition.withdrawn
    )
    return (
        f'{_declaration(edition)}<feed xmlns="http://www.w3.org/2005/Atom"'
        f' xmlns:at="http://purl.org/atompub/tombstones/1.0" xml:lang="{edition.language}"{base}>\n'
        f"<id>{_text(edition.home)}</id>\n<title>{_text(edition.title)}</title>\n"
        f"<subtitle>{_text(edition.about)}</subtitle>\n"
        f"<updated>{edition.changed_at.isoformat()}</updated>\n"
        f'<link rel="self" href="{_text(edition.address)}"/>\n<link href="{_text(edition.home)}"/>\n'
        f"{edition.style.channel_extra}{stones}"
        f"{''.join(_atom10_entry(edition, guid, article) for guid, article in edition.entries)}"
        "</feed>\n"
    )


def _atom10_entry(edition: Edition, guid: str | None, article: Article) -> str:
    link = article.link.removeprefix(edition.home) if edition.style.base else article.link
    lines = [
        f"<id>{_text(guid)}</id>" if guid is not None else "",
        f"<title>{_text(article.title)}</title>",
        f'<link href="{_text(link)}"/>',
        f"<published>{article.published_at.isoformat()}</published>" if _dated(edition) else "",
        f"<updated>{article.updated_at.isoformat()}</updated>" if _dated(edition) else "",
        f"<author><name>{_text(article.author)}</name></author>",
        *(f'<category term="{_text(tag)}"/>' for tag in article.tags),
        f"<summary>{_text(article.summary)}</summary>",
        _atom10_content(edition, article),
    ]
    return "<entry>\n" + "".join(f"{line}\n" for line in lines if line) + "</entry>\n"


def _atom10_content(edition: Edition, article: Article) -> str:
    match edition.style.markup:
        case "xhtml":
            xhtml = article.html.replace(edition.home, "") if edition.style.base else article.html
            return f'<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{xhtml}</div></content>'
        case "text":
            return f'<content type="text">{_text(article.summary)}</content>'
        case "html" | "hostile":
            return f'<content type="html">{_text(article.html)}</content>'
        case _:
            assert_never(edition.style.markup)


def _json11(edition: Edition) -> str:
    items = [_json11_item(edition, guid, article) for guid, article in edition.entries]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": edition.title,
        "home_page_url": edition.home,
        "feed_url": edition.address,
        "description": edition.about,
        "language": edition.language,
        "items": items,
    }
    return msgspec.json.format(msgspec.json.encode(feed)).decode()


def _json11_item(edition: Edition, guid: str | None, article: Article) -> dict[str, object]:
    dates: dict[str, object] = {
        "date_published": article.published_at.isoformat(),
        "date_modified": article.updated_at.isoformat(),
    }
    item: dict[str, object] = {
        "id": guid if guid is not None else article.link,
        "url": article.link,
        "title": article.title,
        "summary": article.summary,
        "content_html": article.html,
        "authors": [{"name": article.author}],
        "tags": list(article.tags),
    }
    return item | dates if _dated(edition) else item


def _declaration(edition: Edition) -> str:
    name = edition.style.declares or edition.style.encoding
    return f'<?xml version="1.0" encoding="{name}"?>\n'


def _dated(edition: Edition) -> bool:
    return edition.style.dates != "none"


def _text(value: str) -> str:
    return escape(value)


_WRITERS: Final[dict[DemoFormat, Callable[[Edition], str]]] = {
    "rss20": _rss20,
    "rss10": _rss10,
    "atom10": _atom10,
    "json11": _json11,
}
