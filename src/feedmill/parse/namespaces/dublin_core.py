"""dc: and dcterms: — stand-ins for what the format itself left out."""
# Tested in tests/unit/parse/namespaces/test_namespaces.py

from typing import Final

from lxml import etree

from feedmill.model.parsed import Category
from feedmill.parse.formats.atom import read_name
from feedmill.parse.formats.rss import read_html
from feedmill.parse.xml.elements import ElementScope, Handler, many_field, stand_in, text_of


def _read_text(element: etree._Element, scope: ElementScope) -> str | None:  # noqa: ARG001
    return text_of(element)


def _read_subject(element: etree._Element, scope: ElementScope) -> Category | None:  # noqa: ARG001
    term = text_of(element)
    return None if term is None else Category(term=term)


_SHARED: Final[dict[str, Handler]] = {
    "dc:title": stand_in("title", read_html),
    "dc:creator": many_field("authors", read_name),
    "dc:author": many_field("authors", read_name),
    "dc:contributor": many_field("contributors", read_name),
    "dc:publisher": stand_in("publisher", read_name),
    "dc:subject": many_field("categories", _read_subject),
    "dc:rights": stand_in("rights", read_html),
    "dc:date": stand_in("published", _read_text),
    "dcterms:issued": stand_in("published", _read_text),
    "dcterms:modified": stand_in("updated", _read_text),
}
_OF_ENTRY: Final[dict[str, Handler]] = _SHARED | {
    "dc:description": stand_in("summary", read_html),
    "dc:identifier": stand_in("id", _read_text),
    "dc:language": stand_in("lang", _read_text),
}
_OF_FEED: Final[dict[str, Handler]] = _SHARED | {
    "dc:description": stand_in("subtitle", read_html),
    "dc:language": stand_in("language", _read_text),
}
# The terms repeat the fifteen elements under their own namespace and refine some of them.
ENTRY: Final[dict[str, Handler]] = (
    {name.replace("dc:", "dcterms:"): handler for name, handler in _OF_ENTRY.items()}
    | _OF_ENTRY
    | {
        "dcterms:abstract": stand_in("summary", read_html),
        "dcterms:created": stand_in("created", _read_text),
    }
)
FEED: Final[dict[str, Handler]] = (
    {name.replace("dc:", "dcterms:"): handler for name, handler in _OF_FEED.items()}
    | _OF_FEED
    | {"dcterms:abstract": stand_in("subtitle", read_html)}
)
