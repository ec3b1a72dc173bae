"""A collection as Atom 1.0 (RFC 4287), with the paging links of RFC 5005."""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from collections.abc import Mapping, Sequence
from typing import Final

from lxml import etree

from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds import items, xml
from feedmill.publish.metafeeds.items import EntrySource, Item, MetaFeed

_NAMES: Final = {None: xml.ATOM, "media": xml.MEDIA}


def write_atom(
    feed: MetaFeed, entries: Sequence[StoredEntry], sources: Mapping[str, EntrySource] | None = None
) -> bytes:
    """The document; the same entries always give the same bytes."""
    root = etree.Element(f"{{{xml.ATOM}}}feed", nsmap=_NAMES)  # type: ignore[arg-type]  # the stubs know no default namespace
    _set_language(root, items.language_tag(feed.language))
    xml.add_element(root, f"{{{xml.ATOM}}}id", items.feed_urn(feed.key))
    xml.add_element(root, f"{{{xml.ATOM}}}title", items.title_of(feed))
    if feed.description:
        xml.add_element(root, f"{{{xml.ATOM}}}subtitle", items.xml_legal_text(feed.description))
    xml.add_element(root, f"{{{xml.ATOM}}}updated", items.rfc3339(feed.updated))
    # Section 4.1.1: needed as soon as one entry has no author of its own.
    xml.add_element(
        xml.add_element(root, f"{{{xml.ATOM}}}author"), f"{{{xml.ATOM}}}name", items.GENERATOR
    )
    xml.add_element(root, f"{{{xml.ATOM}}}generator", items.GENERATOR)
    xml.add_element(root, f"{{{xml.ATOM}}}link", rel="alternate", href=feed.home_url)
    xml.add_paging_links(root, feed, "application/atom+xml")
    for item in items.items_of(entries, sources or {}):
        _entry(root, item)
    return xml.serialise(root)


def _entry(root: etree._Element, item: Item) -> None:
    entry = xml.add_element(root, f"{{{xml.ATOM}}}entry")
    _set_language(entry, item.language)
    xml.add_element(entry, f"{{{xml.ATOM}}}id", item.id)
    xml.add_element(entry, f"{{{xml.ATOM}}}title", item.title, type="text")
    xml.add_element(entry, f"{{{xml.ATOM}}}published", items.rfc3339(item.published))
    xml.add_element(entry, f"{{{xml.ATOM}}}updated", items.rfc3339(item.updated))
    _people(entry, item)
    _links(entry, item)
    for category in item.categories:
        xml.add_element(entry, f"{{{xml.ATOM}}}category", term=category)
    if item.summary:
        xml.add_element(entry, f"{{{xml.ATOM}}}summary", item.summary, type="text")
    if item.content or item.link is None:  # section 4.1.2: one of the two has to be there
        xml.add_element(entry, f"{{{xml.ATOM}}}content", item.content, type="html")
    xml.add_thumbnail(entry, item)
    if item.source is not None:
        _source(entry, item.source, item)


def _people(entry: etree._Element, item: Item) -> None:
    for author in item.authors:
        person = xml.add_element(entry, f"{{{xml.ATOM}}}author")
        xml.add_element(person, f"{{{xml.ATOM}}}name", author.name)
        if author.uri:
            xml.add_element(person, f"{{{xml.ATOM}}}uri", author.uri)
        if author.email:
            xml.add_element(person, f"{{{xml.ATOM}}}email", author.email)


def _links(entry: etree._Element, item: Item) -> None:
    if item.link:
        xml.add_element(entry, f"{{{xml.ATOM}}}link", rel="alternate", href=item.link)
    if item.comments_url:
        xml.add_element(entry, f"{{{xml.ATOM}}}link", rel="replies", href=item.comments_url)
    for enclosure in item.enclosures:
        xml.add_element(
            entry, f"{{{xml.ATOM}}}link", rel="enclosure", href=enclosure.url, **_about(enclosure)
        )


def _about(enclosure: EntryEnclosure) -> dict[str, str]:
    length = None if enclosure.length is None else str(enclosure.length)
    known = {"type": enclosure.type, "length": length, "title": enclosure.title}
    return {name: value for name, value in known.items() if value is not None}


def _source(entry: etree._Element, source: EntrySource, item: Item) -> None:
    """Where the entry came from (section 4.2.11); its author, when the entry names none."""
    element = xml.add_element(entry, f"{{{xml.ATOM}}}source")
    name = source.title or source.url
    xml.add_element(element, f"{{{xml.ATOM}}}id", items.source_urn(source.feed_id))
    xml.add_element(element, f"{{{xml.ATOM}}}title", name)
    xml.add_element(element, f"{{{xml.ATOM}}}updated", items.rfc3339(item.updated))
    if not item.authors:
        xml.add_element(
            xml.add_element(element, f"{{{xml.ATOM}}}author"), f"{{{xml.ATOM}}}name", name
        )
    if source.url:
        xml.add_element(element, f"{{{xml.ATOM}}}link", rel="self", href=source.url)
    if source.site_url:
        xml.add_element(element, f"{{{xml.ATOM}}}link", rel="alternate", href=source.site_url)


def _set_language(element: etree._Element, language: str | None) -> None:
    if language:
        element.set(xml.XML_LANG, language)
