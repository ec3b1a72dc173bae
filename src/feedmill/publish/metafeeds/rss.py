"""A collection as RSS 2.0, with the modules that its readers know: atom, content, dc, media."""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from lxml import etree

from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds.items import (
    GENERATOR,
    EntrySource,
    Item,
    MetaFeed,
    escape_markup,
    items_of,
    language_tag,
    rfc3339,
    title_of,
    xml_legal_text,
)
from feedmill.publish.metafeeds.xml import (
    ATOM,
    CONTENT,
    DC,
    MEDIA,
    add_element,
    add_paging_links,
    add_thumbnail,
    serialise,
)

_NAMES: Final = {"atom": ATOM, "content": CONTENT, "dc": DC, "media": MEDIA}
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_UNKNOWN_TYPE: Final = "application/octet-stream"


def write_rss(
    feed: MetaFeed, entries: Sequence[StoredEntry], sources: Mapping[str, EntrySource] | None = None
) -> bytes:
    """The document; the same entries always give the same bytes."""
    root = etree.Element("rss", {"version": "2.0"}, nsmap=_NAMES)
    channel = add_element(root, "channel")
    title = escape_markup(title_of(feed))
    add_element(channel, "title", title)
    add_element(channel, "link", feed.home_url)
    add_element(channel, "description", escape_markup(xml_legal_text(feed.description)) or title)
    if language := language_tag(feed.language):
        add_element(channel, "language", language)
    add_element(channel, "lastBuildDate", rfc822(feed.updated))
    add_element(channel, "generator", GENERATOR)
    add_paging_links(channel, feed, "application/rss+xml")
    for item in items_of(entries, sources or {}):
        _item(channel, item)
    return serialise(root)


def rfc822(moment: datetime) -> str:
    """The date as RSS wants it: RFC 822 with a year of four digits, in GMT."""
    at = moment.astimezone(UTC)
    return (
        f"{_DAYS[at.weekday()]}, {at.day:02d} {_MONTHS[at.month - 1]} {at.year:04d}"
        f" {at.hour:02d}:{at.minute:02d}:{at.second:02d} GMT"
    )


def _item(channel: etree._Element, item: Item) -> None:
    element = add_element(channel, "item")
    _words(element, item)
    if item.link:
        add_element(element, "link", item.link)
    add_element(element, "guid", item.id, isPermaLink="false")
    add_element(element, "pubDate", rfc822(item.published))
    if item.updated != item.published:
        add_element(element, f"{{{ATOM}}}updated", rfc3339(item.updated))
    for author in item.authors:
        add_element(element, f"{{{DC}}}creator", escape_markup(author.name or ""))
    for category in item.categories:
        add_element(element, "category", escape_markup(category))
    if item.comments_url:
        add_element(element, "comments", item.comments_url)
    if item.language:
        add_element(element, f"{{{DC}}}language", item.language)
    _enclosures(element, item.enclosures)
    add_thumbnail(element, item)
    if item.source is not None and item.source.url:
        add_element(
            element,
            "source",
            escape_markup(item.source.title or item.source.url),
            url=item.source.url,
        )


def _words(element: etree._Element, item: Item) -> None:
    """Title, description and content; of the first two RSS wants at least one."""
    if item.title or not (item.summary or item.content):
        add_element(element, "title", escape_markup(item.title) or item.link or item.id)
    if item.summary:
        add_element(element, "description", _html(item.summary))
    if item.content:
        add_element(
            element, f"{{{CONTENT}}}encoded" if item.summary else "description", item.content
        )


def _enclosures(element: etree._Element, enclosures: tuple[EntryEnclosure, ...]) -> None:
    """The first as RSS has it, with all three of its attributes; of a second, readers lose one."""
    for enclosure in enclosures[:1]:
        add_element(
            element,
            "enclosure",
            url=enclosure.url,
            length=str(enclosure.length or 0),
            type=enclosure.type or _UNKNOWN_TYPE,
        )
    for enclosure in enclosures[1:]:
        size = {} if enclosure.length is None else {"fileSize": str(enclosure.length)}
        kind = {} if enclosure.type is None else {"type": enclosure.type}
        add_element(element, f"{{{MEDIA}}}content", url=enclosure.url, **size, **kind)


def _html(text: str) -> str:
    """Plain text where RSS expects HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
