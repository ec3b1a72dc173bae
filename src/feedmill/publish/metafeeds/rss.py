"""A collection as RSS 2.0, with the modules that its readers know: atom, content, dc, media."""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from lxml import etree

from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds import items, xml

_NAMES: Final = {"atom": xml.ATOM, "content": xml.CONTENT, "dc": xml.DC, "media": xml.MEDIA}
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_UNKNOWN_TYPE: Final = "application/octet-stream"


def write_rss(
    feed: items.MetaFeed,
    entries: Sequence[StoredEntry],
    sources: Mapping[str, items.EntrySource] | None = None,
) -> bytes:
    """The document; the same entries always give the same bytes."""
    root = etree.Element("rss", {"version": "2.0"}, nsmap=_NAMES)
    channel = xml.add_element(root, "channel")
    title = items.escape_markup(items.title_of(feed))
    xml.add_element(channel, "title", title)
    xml.add_element(channel, "link", feed.home_url)
    xml.add_element(
        channel, "description", items.escape_markup(items.xml_legal_text(feed.description)) or title
    )
    if language := items.language_tag(feed.language):
        xml.add_element(channel, "language", language)
    xml.add_element(channel, "lastBuildDate", rfc822(feed.updated))
    xml.add_element(channel, "generator", items.GENERATOR)
    xml.add_paging_links(channel, feed, "application/rss+xml")
    for item in items.items_of(entries, sources or {}):
        _item(channel, item)
    return xml.serialise(root)


def rfc822(moment: datetime) -> str:
    """The date as RSS wants it: RFC 822 with a year of four digits, in GMT."""
    at = moment.astimezone(UTC)
    return (
        f"{_DAYS[at.weekday()]}, {at.day:02d} {_MONTHS[at.month - 1]} {at.year:04d}"
        f" {at.hour:02d}:{at.minute:02d}:{at.second:02d} GMT"
    )


def _item(channel: etree._Element, item: items.Item) -> None:
    element = xml.add_element(channel, "item")
    _words(element, item)
    if item.link:
        xml.add_element(element, "link", item.link)
    xml.add_element(element, "guid", item.id, isPermaLink="false")
    xml.add_element(element, "pubDate", rfc822(item.published))
    if item.updated != item.published:
        xml.add_element(element, f"{{{xml.ATOM}}}updated", items.rfc3339(item.updated))
    for author in item.authors:
        xml.add_element(element, f"{{{xml.DC}}}creator", items.escape_markup(author.name or ""))
    for category in item.categories:
        xml.add_element(element, "category", items.escape_markup(category))
    if item.comments_url:
        xml.add_element(element, "comments", item.comments_url)
    if item.language:
        xml.add_element(element, f"{{{xml.DC}}}language", item.language)
    _enclosures(element, item.enclosures)
    xml.add_thumbnail(element, item)
    if item.source is not None and item.source.url:
        xml.add_element(
            element,
            "source",
            items.escape_markup(item.source.title or item.source.url),
            url=item.source.url,
        )


def _words(element: etree._Element, item: items.Item) -> None:
    """Title, description and content; of the first two RSS wants at least one."""
    if item.title or not (item.summary or item.content):
        xml.add_element(element, "title", items.escape_markup(item.title) or item.link or item.id)
    if item.summary:
        xml.add_element(element, "description", _html(item.summary))
    if item.content:
        xml.add_element(
            element, f"{{{xml.CONTENT}}}encoded" if item.summary else "description", item.content
        )


def _enclosures(element: etree._Element, enclosures: tuple[EntryEnclosure, ...]) -> None:
    """The first as RSS has it, with all three of its attributes; of a second, readers lose one."""
    for enclosure in enclosures[:1]:
        xml.add_element(
            element,
            "enclosure",
            url=enclosure.url,
            length=str(enclosure.length or 0),
            type=enclosure.type or _UNKNOWN_TYPE,
        )
    for enclosure in enclosures[1:]:
        size = {} if enclosure.length is None else {"fileSize": str(enclosure.length)}
        kind = {} if enclosure.type is None else {"type": enclosure.type}
        xml.add_element(element, f"{{{xml.MEDIA}}}content", url=enclosure.url, **size, **kind)


def _html(text: str) -> str:
    """Plain text where RSS expects HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
