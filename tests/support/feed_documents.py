"""Small feed documents, written so that a test shows every field it is about."""

from datetime import UTC, datetime, timedelta
from html import escape

from feedmill_demo.render import http_date
from feedmill_demo.server.script import Answer, document

_MONDAY = datetime(2025, 10, 13, 8, 0, tzinfo=UTC)
ATOM = "application/atom+xml"


def item(
    number: int = 1,
    *,
    guid: str | None = "",
    permalink: bool = False,
    link: str | None = "",
    title: str | None = "",
    text: str | None = "",
    date: str | None = "",
) -> str:
    """An RSS item; an empty field is made up from the number, None leaves it out."""
    when = http_date(_MONDAY + timedelta(hours=number))
    fields = (
        ("title", f"Title {number}" if title == "" else title),
        ("link", f"https://paper.example/{number}" if link == "" else link),
        ("description", f"Text of {number}." if text == "" else text),
        ("pubDate", when if date == "" else date),
    )
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields if value)
    if guid is not None:
        name = guid or f"urn:item:{number}"
        inner += f'<guid isPermaLink="{str(permalink).lower()}">{escape(name)}</guid>'
    return f"<item>{inner}</item>"


def rss(*items: str, extra: str = "", end: str = "</channel></rss>") -> bytes:
    """An RSS 2.0 document; `extra` stands in the channel."""
    return (
        '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"'
        ' xmlns:atom="http://www.w3.org/2005/Atom"'
        ' xmlns:fh="http://purl.org/syndication/history/1.0"'
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">'
        f"<channel><title>Paper</title><link>https://paper.example/</link>{extra}"
        f"{''.join(items)}{end}"
    ).encode()


def numbered(*numbers: int, extra: str = "") -> bytes:
    """A document of items that differ in everything."""
    return rss(*(item(number) for number in numbers), extra=extra)


def atom(*entries: str, extra: str = "") -> bytes:
    """An Atom 1.0 document."""
    return (
        '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:at="http://purl.org/atompub/tombstones/1.0">'
        "<id>urn:paper</id><title>Paper</title><updated>2025-10-13T08:00:00Z</updated>"
        f"{extra}{''.join(entries)}</feed>"
    ).encode()


def atom_entry(number: int, *, text: str = "", updated: str = "2025-10-13T08:00:00Z") -> str:
    """An Atom entry."""
    return (
        f"<entry><id>urn:item:{number}</id><title>Title {number}</title>"
        f'<link href="https://paper.example/{number}"/><updated>{updated}</updated>'
        f"<summary>{escape(text or f'Text of {number}.')}</summary></entry>"
    )


def atom_link(rel: str, href: str) -> str:
    """A link of an Atom document."""
    return f'<link rel="{rel}" href="{href}"/>'


def paper(*numbers: int, **validators: str) -> Answer:
    """A 200 with a document of these items, and validators if given."""
    return document(numbered(*numbers), **validators)  # type: ignore[arg-type]  # etag, last_modified


def said(
    status: int, *headers: tuple[str, str], body: bytes = b"", conditional: bool = False
) -> Answer:
    """Any other answer."""
    return Answer(status=status, headers=headers, body=body, conditional=conditional)
