"""A collection as Atom 1.0 (RFC 4287), with the paging links of RFC 5005."""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from collections.abc import Mapping, Sequence
from typing import Final

from lxml import etree

from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds import items
from feedmill.publish.metafeeds.items import EntrySource, Item, MetaFeed
from feedmill.publish.metafeeds.xml import (
    ATOM,
    MEDIA,
    XML_LANG,
    add_element,
    add_paging_links,
    add_thumbnail,
    serialise,
)

_NAMES: Final = {None: ATOM, "media": MEDIA}


def write_atom(
    feed: MetaFeed, entries: Sequence[StoredEntry], sources: Mapping[str, EntrySource] | None = None
) -> bytes:
    """The document; the same entries always give the same bytes."""
    root = etree.Element(f"{{{ATOM}}}feed", nsmap=_NAMES)  # type: ignore[arg-type]  # the stubs know no default namespace
    _set_language(root, items.language_tag(feed.language))
    add_element(root, f"{{{ATOM}}}id", items.feed_urn(feed.key))
    add_element(root, f"{{{ATOM}}}title", items.title_of(feed))
    if feed.description:
        add_element(root, f"{{{ATOM}}}subtitle", items.xml_legal_text(feed.description))
    add_element(root, f"{{{ATOM}}}updated", items.rfc3339(feed.updated))
    # Section 4.1.1: needed as soon as one entry has no author of its own.
    add_element(add_element(root, f"{{{ATOM}}}author"), f"{{{ATOM}}}name", items.GENERATOR)
    add_element(root, f"{{{ATOM}}}generator", items.GENERATOR)
    add_element(root, f"{{{ATOM}}}link", rel="alternate", href=feed.home_url)
    add_paging_links(root, feed, "application/atom+xml")
    for item in items.items_of(entries, sources or {}):
        _entry(root, item)
    return serialise(root)


def _entry(root: etree._Element, item: Item) -> None:
    entry = add_element(root, f"{{{ATOM}}}entry")
    _set_language(entry, item.language)
    add_element(entry, f"{{{ATOM}}}id", item.id)
    add_element(entry, f"{{{ATOM}}}title", item.title, type="text")
    add_element(entry, f"{{{ATOM}}}published", items.rfc3339(item.published))
    add_element(entry, f"{{{ATOM}}}updated", items.rfc3339(item.updated))
    _people(entry, item)
    _links(entry, item)
    for category in item.categories:
        add_element(entry, f"{{{ATOM}}}category", term=category)
    if item.summary:
        add_element(entry, f"{{{ATOM}}}summary", item.summary, type="text")
    if item.content or item.link is None:  # section 4.1.2: one of the two has to be there
        add_element(entry, f"{{{ATOM}}}content", item.content, type="html")
    add_thumbnail(entry, item)
    if item.source is not None:
        _source(entry, item.source, item)


def _people(entry: etree._Element, item: Item) -> None:
    for author in item.authors:
        person = add_element(entry, f"{{{ATOM}}}author")
        add_element(person, f"{{{ATOM}}}name", author.name)
        if author.uri:
            add_element(person, f"{{{ATOM}}}uri", author.uri)
        if author.email:
            add_element(person, f"{{{ATOM}}}email", author.email)


def _links(entry: etree._Element, item: Item) -> None:
    if item.link:
        add_element(entry, f"{{{ATOM}}}link", rel="alternate", href=item.link)
    if item.comments_url:
        add_element(entry, f"{{{ATOM}}}link", rel="replies", href=item.comments_url)
    for enclosure in item.enclosures:
        add_element(
            entry, f"{{{ATOM}}}link", rel="enclosure", href=enclosure.url, **_about(enclosure)
        )


def _about(enclosure: EntryEnclosure) -> dict[str, str]:
    length = None if enclosure.length is None else str(enclosure.length)
    known = {"type": enclosure.type, "length": length, "title": enclosure.title}
    return {name: value for name, value in known.items() if value is not None}


def _source(entry: etree._Element, source: EntrySource, item: Item) -> None:
    """Where the entry came from (section 4.2.11); its author, when the entry names none."""
    element = add_element(entry, f"{{{ATOM}}}source")
    name = source.title or source.url
    add_element(element, f"{{{ATOM}}}id", items.source_urn(source.feed_id))
    add_element(element, f"{{{ATOM}}}title", name)
    add_element(element, f"{{{ATOM}}}updated", items.rfc3339(item.updated))
    if not item.authors:
        add_element(add_element(element, f"{{{ATOM}}}author"), f"{{{ATOM}}}name", name)
    if source.url:
        add_element(element, f"{{{ATOM}}}link", rel="self", href=source.url)
    if source.site_url:
        add_element(element, f"{{{ATOM}}}link", rel="alternate", href=source.site_url)


def _set_language(element: etree._Element, language: str | None) -> None:
    if language:
        element.set(XML_LANG, language)
