"""Feeds as eight kinds of software write them, with the elements that theirs really carry.

Every writer takes a `Plan` and returns the document in two states: as it was at the last poll,
and as it is now with one new entry at the top and the oldest one gone.
"""

import json
from collections.abc import Callable
from html import escape
from random import Random  # noqa: TID251  # seeded: the same documents in every run
from typing import Final

import msgspec
from benchmarks.bodies import headline, html_body, plain
from benchmarks.prose import PEOPLE, TOPICS

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a document should be like."""

    number: int
    language: str
    entries: int
    entry_bytes: int
    encoding: str = "utf-8"


States = tuple[str, str]


def wordpress(plan: Plan, chance: Random) -> States:
    """RSS 2.0 with content:encoded in CDATA, as WordPress writes it."""
    site = _site(plan)
    items = [_wordpress_item(plan, chance, site, number) for number in range(plan.entries + 1)]
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?><rss version="2.0"\n'
        '\txmlns:content="http://purl.org/rss/1.0/modules/content/"\n'
        '\txmlns:wfw="http://wellformedweb.org/CommentAPI/"\n'
        '\txmlns:dc="http://purl.org/dc/elements/1.1/"\n'
        '\txmlns:atom="http://www.w3.org/2005/Atom"\n'
        '\txmlns:sy="http://purl.org/rss/1.0/modules/syndication/"\n'
        '\txmlns:slash="http://purl.org/rss/1.0/modules/slash/"\n\t>\n\n<channel>\n'
        f"\t<title>{escape(headline(chance, plan.language))}</title>\n"
        f'\t<atom:link href="{site}feed/" rel="self" type="application/rss+xml" />\n'
        f"\t<link>{site}</link>\n"
        f"\t<description>{escape(headline(chance, plan.language))}</description>\n"
        "\t<lastBuildDate>{built}</lastBuildDate>\n"
        f"\t<language>{plan.language}</language>\n\t<sy:updatePeriod>\n\thourly\t</sy:updatePeriod>\n"
        "\t<sy:updateFrequency>\n\t1\t</sy:updateFrequency>\n"
        "\t<generator>https://wordpress.org/?v=6.7.1</generator>\n"
        f"<image>\n\t<url>{site}icon-32x32.png</url>\n\t<title>{escape(site)}</title>\n"
        f"\t<link>{site}</link>\n\t<width>32</width>\n\t<height>32</height>\n</image>\n"
    )
    return _states(head, items, "</channel>\n</rss>\n")


def news(plan: Plan, chance: Random) -> States:
    """RSS 2.0 of a newspaper: escaped HTML in descriptions, media: pictures, many short items."""
    site = _site(plan)
    items = [_news_item(plan, chance, site, number) for number in range(plan.entries + 1)]
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?>\n'
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom">\n'
        f"<channel>\n<title>{escape(headline(chance, plan.language))}</title>\n<link>{site}</link>\n"
        f"<description>{escape(plain(chance, plan.language, 1))}</description>\n"
        f"<language>{plan.language}</language>\n<copyright>All rights reserved</copyright>\n"
        "<pubDate>{built}</pubDate><lastBuildDate>{built}</lastBuildDate>\n<ttl>15</ttl>\n"
        f'<atom:link href="{site}rss.xml" rel="self" type="application/rss+xml"/>\n'
        f"<image><title>News</title><url>{site}logo.gif</url><link>{site}</link></image>\n"
    )
    return _states(head, items, "</channel>\n</rss>\n")


def blogger(plan: Plan, chance: Random) -> States:
    """Atom 1.0 with escaped HTML content and many links, as Blogger writes it."""
    site = _site(plan)
    items = [_blogger_entry(plan, chance, site, number) for number in range(plan.entries + 1)]
    head = (
        f"<?xml version='1.0' encoding='{plan.encoding}'?>"
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:openSearch='http://a9.com/-/spec/"
        "opensearchrss/1.0/' xmlns:gd='http://schemas.google.com/g/2005' "
        "xmlns:thr='http://purl.org/syndication/thread/1.0'>"
        f"<id>tag:blogger.com,1999:blog-{plan.number}</id><updated>{{built}}</updated>"
        f"<title type='text'>{escape(headline(chance, plan.language))}</title>"
        f"<subtitle type='html'>{escape(plain(chance, plan.language, 1))}</subtitle>"
        f"<link rel='http://schemas.google.com/g/2005#feed' type='application/atom+xml' "
        f"href='{site}feeds/posts/default'/><link rel='self' href='{site}feeds/posts/default'/>"
        f"<link rel='alternate' type='text/html' href='{site}'/>"
        f"<author><name>{escape(chance.choice(PEOPLE))}</name></author>"
        "<generator version='7.00' uri='http://www.blogger.com'>Blogger</generator>"
    )
    return _states(head, items, "</feed>", iso=True)


def xhtml(plan: Plan, chance: Random) -> States:
    """Atom 1.0 with XHTML content, xml:lang and xml:base, as static site programs write it."""
    site = _site(plan)
    items = [_xhtml_entry(plan, chance, site, number) for number in range(plan.entries + 1)]
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{plan.language}" xml:base="{site}">\n'
        f'  <title>{escape(headline(chance, plan.language))}</title>\n  <link href="{site}"/>\n'
        f'  <link rel="self" href="{site}atom.xml"/>\n  <updated>{{built}}</updated>\n'
        f"  <id>{site}</id>\n  <author><name>{escape(chance.choice(PEOPLE))}</name></author>\n"
    )
    return _states(head, items, "</feed>\n", iso=True)


def podcast(plan: Plan, chance: Random) -> States:
    """RSS 2.0 of a podcast host: itunes:, podcast:, enclosures, show notes twice."""
    site = _site(plan)
    items = [_episode(plan, chance, site, number) for number in range(plan.entries + 1)]
    author = escape(chance.choice(PEOPLE))
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?>\n<rss version="2.0" '
        'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:podcast="https://podcastindex.org/namespace/1.0" '
        'xmlns:atom="http://www.w3.org/2005/Atom">\n<channel>\n'
        f'<atom:link href="{site}rss" rel="self" type="application/rss+xml"/>\n'
        f"<title>{escape(headline(chance, plan.language))}</title>\n<link>{site}</link>\n"
        f"<description><![CDATA[{plain(chance, plan.language, 3)}]]></description>\n"
        f"<language>{plan.language}</language>\n<pubDate>{{built}}</pubDate>\n"
        f"<itunes:author>{author}</itunes:author>\n<itunes:type>episodic</itunes:type>\n"
        f"<itunes:owner><itunes:name>{author}</itunes:name>"
        "<itunes:email>hello@example.org</itunes:email></itunes:owner>\n"
        f'<itunes:image href="{site}cover.jpg"/>\n<itunes:explicit>false</itunes:explicit>\n'
        '<itunes:category text="Society &amp; Culture"><itunes:category text="Documentary"/>'
        '</itunes:category>\n<podcast:locked owner="hello@example.org">yes</podcast:locked>\n'
    )
    return _states(head, items, "</channel>\n</rss>\n")


def rss10(plan: Plan, chance: Random) -> States:
    """RSS 1.0: RDF with dc: and an rdf:Seq, as Japanese and academic sites write it."""
    site = _site(plan)
    items = [_rdf_item(plan, chance, site, number) for number in range(plan.entries + 1)]
    places = "".join(f'<rdf:li rdf:resource="{site}a/{n}"/>\n' for n in range(plan.entries + 1))
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?>\n'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        f'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xml:lang="{plan.language}">\n'
        f'<channel rdf:about="{site}index.rdf">\n<title>{escape(headline(chance, plan.language))}'
        f"</title>\n<link>{site}</link>\n<description>{escape(plain(chance, plan.language, 1))}"
        "</description>\n<dc:date>{built}</dc:date>\n<sy:updatePeriod>daily</sy:updatePeriod>\n"
        f"<items><rdf:Seq>{places}</rdf:Seq></items>\n</channel>\n"
    )
    return _states(head, items, "</rdf:RDF>\n", iso=True)


def video(plan: Plan, chance: Random) -> States:
    """Atom with media:group, as a video platform writes its channels."""
    site = _site(plan)
    items = [_video_entry(plan, chance, number) for number in range(plan.entries + 1)]
    head = (
        f'<?xml version="1.0" encoding="{plan.encoding}"?>\n'
        '<feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" '
        'xmlns:media="http://search.yahoo.com/mrss/" xmlns="http://www.w3.org/2005/Atom">\n'
        f' <link rel="self" href="{site}feeds/videos.xml?channel_id=UC{plan.number:022d}"/>\n'
        f" <id>yt:channel:{plan.number:022d}</id>\n <yt:channelId>{plan.number:022d}</yt:channelId>\n"
        f' <title>{escape(chance.choice(PEOPLE))}</title>\n <link rel="alternate" href="{site}"/>\n'
        f" <author>\n  <name>{escape(chance.choice(PEOPLE))}</name>\n  <uri>{site}</uri>\n </author>\n"
        " <published>2016-04-01T09:00:00+00:00</published>\n"
    )
    return _states(head, items, "</feed>\n", iso=True)


def json_feed(plan: Plan, chance: Random) -> States:
    """JSON Feed 1.1."""
    site = _site(plan)
    items = [_json_item(plan, chance, site, number) for number in range(plan.entries + 1)]
    envelope = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": headline(chance, plan.language),
        "home_page_url": site,
        "feed_url": f"{site}feed.json",
        "language": plan.language,
        "authors": [{"name": chance.choice(PEOPLE), "url": site}],
    }
    states = [{**envelope, "items": part} for part in (items[1:], items[:-1])]
    before, after = (json.dumps(state, ensure_ascii=False, indent=1) for state in states)
    return before, after


def _states(head: str, items: list[str], end: str, *, iso: bool = False) -> States:
    built = ("2025-03-09T08:00:00Z", "2025-03-10T08:00:00Z") if iso else (_rfc822(3), _rfc822(2))
    before, after = (head.replace("{built}", moment) for moment in built)
    return before + "".join(items[1:]) + end, after + "".join(items[:-1]) + end


def _wordpress_item(plan: Plan, chance: Random, site: str, number: int) -> str:
    title, author = escape(headline(chance, plan.language)), chance.choice(PEOPLE)
    link = f"{site}2025/03/{number}/entry-{number}/"
    tags = chance.sample(TOPICS, chance.randint(0, 4))
    categories = "".join(f"\t\t<category><![CDATA[{tag}]]></category>\n" for tag in tags)
    body = html_body(chance, plan.language, plan.entry_bytes - 1400)
    excerpt = plain(chance, plan.language, 2)
    description = (
        f"<p>{excerpt} [&#8230;]</p>\n<p>The post "
        f'<a href="{link}">{title}</a> appeared first.</p>\n'
    )
    content = (
        f"\t\t\t\t\t\t\t\t\t\t<content:encoded><![CDATA[{body}]]></content:encoded>\n\t\t\t\t\t\n"
    )
    if plan.number % 5 < 3:  # most sites publish one text, not two
        description, content = body, ""
    written = f"<![CDATA[{description}]]>"
    if plan.number % 3:  # a quarter of all tags are escaped
        written = escape(description, quote=False)
    return (
        f"\t<item>\n\t\t<title>{title}</title>\n\t\t<link>{link}</link>\n\t\t\n"
        f"\t\t<comments>{link}#respond</comments>\n"
        f"\t\t<dc:creator><![CDATA[{author}]]></dc:creator>\n"
        f"\t\t<pubDate>{_rfc822(number)}</pubDate>\n{categories}"
        f'\t\t<guid isPermaLink="false">{site}?p={number}</guid>\n\n'
        f"\t\t\t\t\t<description>{written}</description>\n{content}"
        f"\t\t\t\t\t<wfw:commentRss>{link}feed/</wfw:commentRss>\n"
        f"\t\t\t<slash:comments>{chance.randint(0, 40)}</slash:comments>\n"
        f'\t\t<post-id xmlns="com-wordpress:feed-additions:1">{number}</post-id>\t</item>\n'
    )


def _news_item(plan: Plan, chance: Random, site: str, number: int) -> str:
    link = f"{site}news/{number}?utm_source=rss&amp;utm_medium=feed"
    if plan.number % 5 < 3:  # text alone, without any markup
        body = plain(chance, plan.language, max(1, (plan.entry_bytes - 800) // 90))
    else:
        body = html_body(chance, plan.language, plan.entry_bytes - 800)
    tags = "".join(f"<category>{escape(tag)}</category>\n" for tag in chance.sample(TOPICS, 2))
    return (
        f"<item>\n<title>{escape(headline(chance, plan.language))}</title>\n<link>{link}</link>\n"
        f"<description>{escape(body, quote=False)}</description>\n"
        f'<pubDate>{_rfc822(number)}</pubDate>\n<guid isPermaLink="true">{site}news/{number}</guid>\n'
        f"<dc:creator>{escape(chance.choice(PEOPLE))}</dc:creator>\n{tags}"
        f'<media:content url="{site}pictures/{number}.jpg" medium="image" width="976" height="549">'
        f"<media:credit>{escape(chance.choice(PEOPLE))}</media:credit></media:content>\n"
        f'<media:thumbnail url="{site}pictures/{number}-s.jpg" width="240" height="135"/>\n</item>\n'
    )


def _blogger_entry(plan: Plan, chance: Random, site: str, number: int) -> str:
    body = html_body(chance, plan.language, int((plan.entry_bytes - 1900) / 1.15))
    tags = "".join(
        f"<category scheme='http://www.blogger.com/atom/ns#' term='{escape(tag)}'/>"
        for tag in chance.sample(TOPICS, chance.randint(1, 4))
    )
    post = f"{site}feeds/posts/default/{number}"
    return (
        f"<entry><id>tag:blogger.com,1999:blog-{plan.number}.post-{number}</id>"
        f"<published>{_iso(number)}</published><updated>{_iso(number)}</updated>{tags}"
        f"<title type='text'>{escape(headline(chance, plan.language))}</title>"
        f"<content type='html'>{escape(body, quote=False)}</content>"
        f"<link rel='replies' type='application/atom+xml' href='{site}feeds/{number}/comments' "
        "title='Post Comments'/>"
        f"<link rel='replies' type='text/html' href='{site}{number}.html#comment-form' title='0'/>"
        f"<link rel='edit' type='application/atom+xml' href='{post}'/>"
        f"<link rel='self' type='application/atom+xml' href='{post}'/>"
        f"<link rel='alternate' type='text/html' href='{site}{number}.html' title='Entry'/>"
        f"<author><name>{escape(chance.choice(PEOPLE))}</name><uri>{site}profile</uri>"
        "<email>noreply@blogger.com</email><gd:image rel='thumbnail' width='16' height='16' "
        f"src='{site}b16.gif'/></author><thr:total>{number % 7}</thr:total></entry>"
    )


def _xhtml_entry(plan: Plan, chance: Random, site: str, number: int) -> str:
    body = html_body(chance, plan.language, plan.entry_bytes - 900).replace("&nbsp;", "&#160;")
    body = body.replace("&ndash;", "&#8211;")
    tags = "".join(f'    <category term="{escape(tag)}"/>\n' for tag in chance.sample(TOPICS, 2))
    return (
        f"  <entry>\n    <title>{escape(headline(chance, plan.language))}</title>\n"
        f'    <link href="{number}/"/>\n    <id>{site}{number}/</id>\n'
        f"    <published>{_iso(number)}</published>\n    <updated>{_iso(number)}</updated>\n{tags}"
        f'    <summary type="text">{escape(plain(chance, plan.language, 2))}</summary>\n'
        f'    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{body}</div></content>\n'
        f"  </entry>\n"
    )


def _episode(plan: Plan, chance: Random, site: str, number: int) -> str:
    title = escape(headline(chance, plan.language))
    notes = html_body(chance, plan.language, (plan.entry_bytes - 1800) // 2)
    return (
        f"<item>\n<title>{title}</title>\n<itunes:title>{title}</itunes:title>\n"
        f'<pubDate>{_rfc822(number)}</pubDate>\n<guid isPermaLink="false">{number:08x}-ep</guid>\n'
        f"<link>{site}episodes/{number}</link>\n<description><![CDATA[{notes}]]></description>\n"
        f"<content:encoded><![CDATA[{notes}]]></content:encoded>\n"
        f'<enclosure length="{chance.randint(10**7, 10**8)}" type="audio/mpeg" '
        f'url="{site}media/{number}.mp3?source=feed&amp;ep={number}"/>\n'
        f'<itunes:image href="{site}cover/{number}.jpg"/>\n'
        f"<itunes:duration>{chance.randint(600, 7200)}</itunes:duration>\n"
        "<itunes:explicit>no</itunes:explicit>\n<itunes:episodeType>full</itunes:episodeType>\n"
        f"<itunes:season>3</itunes:season>\n<itunes:episode>{number}</itunes:episode>\n"
        f"<itunes:author>{escape(chance.choice(PEOPLE))}</itunes:author>\n"
        f"<itunes:subtitle>{escape(plain(chance, plan.language, 1))}</itunes:subtitle>\n"
        f"<itunes:summary>{escape(plain(chance, plan.language, 3))}</itunes:summary>\n"
        f'<podcast:transcript url="{site}t/{number}.vtt" type="text/vtt"/>\n'
        f'<podcast:chapters url="{site}c/{number}.json" type="application/json+chapters"/>\n</item>\n'
    )


def _rdf_item(plan: Plan, chance: Random, site: str, number: int) -> str:
    body = html_body(chance, plan.language, plan.entry_bytes - 1000)
    return (
        f'<item rdf:about="{site}a/{number}">\n<title>{escape(headline(chance, plan.language))}'
        f"</title>\n<link>{site}a/{number}</link>\n"
        f"<description>{escape(plain(chance, plan.language, 3))}</description>\n"
        f"<content:encoded><![CDATA[{body}]]></content:encoded>\n"
        f"<dc:creator>{escape(chance.choice(PEOPLE))}</dc:creator>\n"
        f"<dc:subject>{escape(chance.choice(TOPICS))}</dc:subject>\n"
        f"<dc:date>{_iso(number)}</dc:date>\n</item>\n"
    )


def _video_entry(plan: Plan, chance: Random, number: int) -> str:
    key, title = f"v{plan.number:04d}{number:06d}", escape(headline(chance, plan.language))
    sentences = max(1, (plan.entry_bytes - 1200) // 80)
    return (
        f" <entry>\n  <id>yt:video:{key}</id>\n  <yt:videoId>{key}</yt:videoId>\n"
        f"  <yt:channelId>{plan.number:022d}</yt:channelId>\n  <title>{title}</title>\n"
        f'  <link rel="alternate" href="https://video.example.com/watch?v={key}"/>\n'
        f"  <author>\n   <name>{escape(chance.choice(PEOPLE))}</name>\n"
        "   <uri>https://video.example.com/channel/</uri>\n  </author>\n"
        f"  <published>{_iso(number)}</published>\n  <updated>{_iso(number)}</updated>\n"
        f"  <media:group>\n   <media:title>{title}</media:title>\n"
        f'   <media:content url="https://video.example.com/v/{key}?version=3" '
        'type="application/x-shockwave-flash" width="640" height="390"/>\n'
        f'   <media:thumbnail url="https://i.example.com/vi/{key}/hq.jpg" width="480" height="360"/>\n'
        f"   <media:description>{escape(plain(chance, plan.language, sentences))}"
        "</media:description>\n   <media:community>\n"
        f'    <media:starRating count="{chance.randint(1, 9999)}" average="5.00" min="1" max="5"/>\n'
        f'    <media:statistics views="{chance.randint(1, 999999)}"/>\n   </media:community>\n'
        "  </media:group>\n </entry>\n"
    )


def _json_item(plan: Plan, chance: Random, site: str, number: int) -> dict[str, object]:
    return {
        "id": f"{site}{number}",
        "url": f"{site}{number}/",
        "title": headline(chance, plan.language),
        "summary": plain(chance, plan.language, 1),
        "content_html": html_body(chance, plan.language, plan.entry_bytes - 600),
        "date_published": _iso(number),
        "date_modified": _iso(number),
        "tags": chance.sample(TOPICS, 3),
        "authors": [{"name": chance.choice(PEOPLE)}],
        "image": f"{site}pictures/{number}.jpg",
    }


def _site(plan: Plan) -> str:
    return f"https://site{plan.number}.example.org/"


def _rfc822(age: int) -> str:
    day = f"{_DAYS[age % 7]}, {28 - age % 27:02d} {_MONTHS[age % 11]} {2025 - age // 300}"
    return f"{day} {age % 24:02d}:{age % 60:02d}:00 +0000"


def _iso(age: int) -> str:
    return f"{2025 - age // 300}-{1 + age % 11:02d}-{28 - age % 27:02d}T{age % 24:02d}:{age % 60:02d}:00Z"


WRITERS: Final[dict[str, tuple[Callable[[Plan, Random], States], str, float]]] = {
    "wordpress": (wordpress, "application/rss+xml; charset=UTF-8", 0.34),
    "news": (news, "application/xml", 0.22),
    "podcast": (podcast, "application/rss+xml", 0.14),
    "blogger": (blogger, "application/atom+xml; charset=UTF-8", 0.11),
    "xhtml": (xhtml, "application/atom+xml", 0.06),
    "video": (video, "text/xml; charset=UTF-8", 0.06),
    "rss10": (rss10, "application/rdf+xml", 0.04),
    "json": (json_feed, "application/feed+json", 0.03),
}
