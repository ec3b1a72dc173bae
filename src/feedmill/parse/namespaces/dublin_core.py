"""dc: and dcterms: — stand-ins for what the format itself left out."""
# Tested in tests/unit/parse/namespaces/test_namespaces.py

from typing import Final

from lxml import etree

from feedmill.model.parsed import Category, Person
from feedmill.parse.formats.atom import Handler
from feedmill.parse.formats.rss import read_html
from feedmill.parse.xml.elements import Draft, ElementScope, text_of


def _stand_in(field: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
        draft.offer(field, text_of(element))

    return handle


def _text_stand_in(field: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        draft.offer(field, read_html(element, scope))

    return handle


def _person(field: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        name = text_of(element)
        if name is not None:
            draft.add(field, Person(name=name), scope)

    return handle


def _publisher(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    name = text_of(element)
    if name is not None:
        draft.offer("publisher", Person(name=name))


def _subject(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    term = text_of(element)
    if term is not None:
        draft.add("categories", Category(term=term), scope)


_SHARED: Final[dict[str, Handler]] = {
    "dc:title": _text_stand_in("title"),
    "dc:creator": _person("authors"),
    "dc:author": _person("authors"),
    "dc:contributor": _person("contributors"),
    "dc:publisher": _publisher,
    "dc:subject": _subject,
    "dc:rights": _text_stand_in("rights"),
    "dc:date": _stand_in("published"),
    "dcterms:issued": _stand_in("published"),
    "dcterms:modified": _stand_in("updated"),
}
_OF_ENTRY: Final[dict[str, Handler]] = _SHARED | {
    "dc:description": _text_stand_in("summary"),
    "dc:identifier": _stand_in("id"),
    "dc:language": _stand_in("lang"),
}
_OF_FEED: Final[dict[str, Handler]] = _SHARED | {
    "dc:description": _text_stand_in("subtitle"),
    "dc:language": _stand_in("language"),
}
# The terms repeat the fifteen elements under their own namespace and refine some of them.
ENTRY: Final[dict[str, Handler]] = (
    {name.replace("dc:", "dcterms:"): handler for name, handler in _OF_ENTRY.items()}
    | _OF_ENTRY
    | {"dcterms:abstract": _text_stand_in("summary"), "dcterms:created": _stand_in("created")}
)
FEED: Final[dict[str, Handler]] = (
    {name.replace("dc:", "dcterms:"): handler for name, handler in _OF_FEED.items()}
    | _OF_FEED
    | {"dcterms:abstract": _text_stand_in("subtitle")}
)
