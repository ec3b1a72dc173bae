"""Shared by the XML formats: namespaces, elements, paging links, serialisation.

Elements are built, never written as text, so that nothing in an entry can end one.
"""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from typing import Final

from lxml import etree

from feedmill.publish.metafeeds.items import Item, MetaFeed, paging_links

ATOM: Final = "http://www.w3.org/2005/Atom"
CONTENT: Final = "http://purl.org/rss/1.0/modules/content/"
_HISTORY: Final = "http://purl.org/syndication/history/1.0"
DC: Final = "http://purl.org/dc/elements/1.1/"
MEDIA: Final = "http://search.yahoo.com/mrss/"
XML_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"


def add_element(
    parent: etree._Element, name: str, text: str | None = None, **attributes: str
) -> etree._Element:
    """A new last child; attributes stand in the order in which they are given."""
    element = etree.SubElement(parent, name, attributes)
    element.text = text
    return element


def add_paging_links(parent: etree._Element, feed: MetaFeed, media_type: str) -> None:
    """The feed's own address, its pages and archive documents (RFC 5005) and its hub."""
    if feed.archive:
        etree.SubElement(parent, f"{{{_HISTORY}}}archive", nsmap={"fh": _HISTORY})
    for rel, href in paging_links(feed):
        add_element(parent, f"{{{ATOM}}}link", rel=rel, href=href, type=media_type)
    if feed.hub_url:
        add_element(parent, f"{{{ATOM}}}link", rel="hub", href=feed.hub_url)


def add_thumbnail(parent: etree._Element, item: Item) -> None:
    """The entry's picture, in the one vocabulary that readers of both formats know."""
    if item.image:
        add_element(parent, f"{{{MEDIA}}}thumbnail", url=item.image)


def serialise(root: etree._Element) -> bytes:
    """The document in UTF-8, with its declaration."""
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)
