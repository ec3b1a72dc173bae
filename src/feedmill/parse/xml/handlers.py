"""Reads values from the element tree: one table of handlers for entries, one for the feed.

Every format and namespace contributes to the two tables; walking is looking a name up and
calling what is found. Unknown elements are kept as text in `ext`.
"""
# Tested in tests/unit/parse/xml/test_tree.py

from html import escape
from itertools import islice
from typing import Any, Final

from lxml import etree

from feedmill.canonicalise.urls import http_url
from feedmill.model.parsed import (
    Content,
    FeedFormat,
    Itunes,
    Link,
    ParsedEntry,
    Podcast,
    Slice,
    Text,
)
from feedmill.parse.formats import atom, rss
from feedmill.parse.formats.atom import best_alternate
from feedmill.parse.namespaces import (
    content,
    dublin_core,
    georss,
    itunes,
    media,
    podcast,
    syndication,
)
from feedmill.parse.xml.elements import Draft, ElementScope, Handler, text_of
from feedmill.parse.xml.names import is_rss_namespace, is_settled, name_of


def _in_atom(handlers: dict[str, Handler]) -> dict[str, Handler]:
    """RSS's elements for documents that put them into Atom's namespace."""
    return {name.replace("rss:", "atom:"): handler for name, handler in handlers.items()}


_ENTRY: Final[dict[str, Handler]] = {
    **_in_atom(rss.ENTRY),
    **rss.ENTRY,
    **atom.ENTRY,
    **dublin_core.ENTRY,
    **content.ENTRY,
    **itunes.ENTRY,
    **podcast.ENTRY,
    **media.ENTRY,
    **georss.BOTH,
}
_FEED: Final[dict[str, Handler]] = {
    **_in_atom(rss.FEED),
    **rss.FEED,
    **atom.FEED,
    **dublin_core.FEED,
    **content.FEED,
    **syndication.FEED,
    **itunes.FEED,
    **podcast.FEED,
    **georss.BOTH,
}
_PARTS: Final[dict[str, type[Any]]] = {"itunes": Itunes, "podcast": Podcast}
_MAX_HANDLERS: Final = 2_000
_handlers: dict[str, Handler] = {}  # by tag, for tags whose name is settled
_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_MAX_EXT: Final = 64
_MAX_CHILDREN: Final = 20_000  # of one entry or feed that are looked at
_MAX_SIBLINGS: Final = 100_000  # among which entries are looked for
_MAX_EXT_CHARS: Final = 1_000
_RSS_VERSIONS: Final[dict[str, FeedFormat]] = {
    "0.90": "rss090",
    "0.9": "rss090",
    "0.91": "rss091",
    "0.92": "rss092",
    "0.93": "rss093",
    "0.94": "rss094",
    "1.0": "rss10",
}


def format_of(root: etree._Element) -> FeedFormat | None:
    """Which format the root element announces; None when it is no feed."""
    name = name_of(root)
    local = name.rpartition(":")[2].rpartition("}")[2].lower()
    if local == "rss":
        return _RSS_VERSIONS.get((root.get("version") or "").strip(), "rss20")
    if local == "rdf":
        if not _holds_rss(root):
            return None
        old = any("/rdf/simple/0.9" in (uri or "") for uri in root.nsmap.values())
        return "rss090" if old else "rss10"
    if local == "channel":
        return "rss11" if "rss1.1" in root.tag else "rss20"
    if name in ("atom:feed", "atom:entry"):
        old = root.tag.startswith("{") and "2005/atom" not in root.tag.lower()
        return "atom03" if old else "atom10"
    if name == "rss:feed":
        return "atom03" if (root.get("version") or "").strip() == "0.3" else "atom10"
    return None


def _holds_rss(root: etree._Element) -> bool:
    """Whether RDF has a part of RSS, or nothing at all but its namespace.

    FOAF and the data of pictures have none, whatever namespaces they declare.
    """
    if len(root) == 0:
        return any(map(is_rss_namespace, root.nsmap.values()))
    return any(name_of(child) in _RSS_PARTS for child in islice(root, _MAX_SIBLINGS))


def split_entries(root: etree._Element) -> tuple[list[etree._Element], list[etree._Element]]:
    """The containers of feed-level elements, and the entries, in document order."""
    name = name_of(root)
    if name in _ENTRY_NAMES:
        return [], [root]
    containers, entries = [root], []
    for child in islice(root, _MAX_SIBLINGS):
        kind = name_of(child)
        if kind == "rss:channel":
            containers.append(child)
            entries += _entries_in(child)
        elif kind in _ENTRY_NAMES:
            entries.append(child)
        elif kind == "rss:items":
            entries += _entries_in(child)
    return containers, entries


def read_entry(element: etree._Element, scope: ElementScope, place: Slice | None) -> ParsedEntry:
    """One item or entry in the publisher's words."""
    scope = scope.enter(element)
    draft = Draft()
    known = _handlers.get
    for child in islice(element, _MAX_CHILDREN):
        handler = known(child.tag) or _handler_of(child)
        handler(draft, child, scope)
    about = element.get(_RDF + "about")
    if about is not None:
        draft.put("id", about.strip() or None)
    return _entry(draft, scope, place)


def read_feed(
    containers: list[etree._Element], scope: ElementScope
) -> tuple[dict[str, Any], ElementScope]:
    """The feed's own fields, and the scope in which its entries stand."""
    draft = Draft()
    base = scope.base
    for container in containers:
        scope = scope.enter(container)
        left = _MAX_CHILDREN
        for child in islice(container, _MAX_SIBLINGS):
            name = name_of(child)
            if name in _CONTAINERS:
                continue
            left -= 1
            if left < 0:
                scope.notes.add("values-capped")
                break
            handler = _FEED.get(name)
            if handler is not None:
                handler(draft, child, scope)
            else:
                _keep_unknown(draft, child, scope)
        about = container.get(_RDF + "about")
        if about is not None:
            draft.put("id", about.strip() or None)
    fields = dict(draft.settled())
    for name, facts in draft.parts.items():
        fields[name] = _PARTS[name](**facts)
    if "link" not in fields:
        fields["link"] = best_alternate(fields.get("links", ()))
    if scope.lang is not None and "language" not in fields:
        fields["language"] = scope.lang
    fields["base"] = scope.base
    if containers and name_of(containers[0]) not in _ATOM_ROOTS and scope.base == base:
        scope.page = http_url(fields.get("link") or "")
    return fields, scope


def _handler_of(element: etree._Element) -> Handler:
    """Who reads this element of an entry; remembered by its tag where the tag decides."""
    handler = _ENTRY.get(name_of(element), _keep_unknown)
    if is_settled(element.tag) and len(_handlers) < _MAX_HANDLERS:
        _handlers[element.tag] = handler
    return handler


def _entry(draft: Draft, scope: ElementScope, place: Slice | None) -> ParsedEntry:
    fields = draft.settled()
    if "link" not in fields:
        link = best_alternate(fields.get("links", ()))
        if link is not None:
            fields["link"] = link
        elif fields.get("id_is_permalink") and _is_address(fields["id"]):
            fields["link"] = fields["id"]
            fields["links"] = (*fields.get("links", ()), Link(href=fields["id"]))
    for name, facts in draft.parts.items():
        fields[name] = _PARTS[name](**facts)
    if draft.fuller is not None:
        _add_fuller(fields, draft.fuller)
    fields["base"] = scope.base
    fields["slice"] = place
    if scope.lang is not None:
        fields["lang"] = scope.lang
    return ParsedEntry(**fields)


def _add_fuller(fields: dict[str, Any], fuller: Text) -> None:
    """A description that says more than the summary and every content is one more content."""
    contents: tuple[Content, ...] = fields.get("contents", ())
    texts = [fields["summary"].value, *[content.value for content in contents]]
    if len(fuller.value) <= max(map(len, texts)):
        return
    value, kind = fuller.value, "text/plain" if fuller.kind == "text" else "text/html"
    if contents and fuller.kind == "text":  # beside HTML, text alone would not be taken
        value, kind = escape(value, quote=False).replace("\n", "<br>"), "text/html"
    content = Content(value=value, type=kind, base=fuller.base, lang=fuller.lang)
    fields["contents"] = (*contents, content)


def _keep_unknown(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Keep an unknown element as text, so that nothing the publisher said is lost."""
    known = draft.get("ext", ())
    if len(known) >= _MAX_EXT:
        scope.notes.add("values-capped")
        return
    text = text_of(element)
    if text is not None:
        draft["ext"] = (*known, (element.tag[:200], text[:_MAX_EXT_CHARS]))


def _entries_in(container: etree._Element) -> list[etree._Element]:
    found: list[etree._Element] = []
    for child in islice(container, _MAX_SIBLINGS):
        kind = name_of(child)
        if kind in _ENTRY_NAMES:
            found.append(child)
        elif kind == "rss:items":
            found += _entries_in(child)
    return found


def _is_address(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


_RSS_PARTS: Final = frozenset({"rss:channel", "rss:item", "rss:items", "rss:image"})
_ENTRY_NAMES: Final = frozenset({"rss:item", "atom:entry", "rss:entry", "atom:item"})
_ATOM_ROOTS: Final = frozenset({"atom:feed", "rss:feed"})
_CONTAINERS: Final = _ENTRY_NAMES | {"rss:channel"}
