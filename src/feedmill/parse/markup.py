"""RSS and Atom documents: the entries' slices, the tree, and the values of both."""

import re
from typing import Any, Final

from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.document import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Repair, RepairCode, Slice, Unreadable
from feedmill.parse import slices, sniff, walk
from feedmill.parse.elements import Scope
from feedmill.parse.encoding import Decoded
from feedmill.parse.prolog import read_prolog, without_doctype
from feedmill.parse.xml import Tree, mend, parse_strictly, read_tree, recover

_WRAPPING_BYTES: Final = 50_000_000  # what start tags around broken slices may cost in all
_TAG_NAME: Final = re.compile(rb"<([^\s/>]+)")
_NOTES: Final[dict[RepairCode, str]] = {
    "values-capped": "an entry repeats an element more often than the limit",
    "namespace-guessed": "a well-known prefix is bound to an unknown namespace",
    "items-salvaged": "entries were read one by one from a broken document",
}


class _Source(Value):
    """The bytes to parse, and the entries that a scan found in them."""

    utf8: bytes
    start: int
    root: int
    spans: tuple[tuple[int, int], ...]
    cut_entry: bool
    marks: tuple[str, ...]
    places: tuple[Slice, ...] | None
    repairs: tuple[Repair, ...]


def parse_markup(
    document: RawDocument, decoded: Decoded, limits: ParseLimits, known: frozenset[str]
) -> ParsedFeed | Unreadable:
    """Read an XML feed, well-formed or not."""
    source = _prepare(document, decoded)
    if source is None:
        return Unreadable(reason="not-a-feed", detail="markup without an element")
    fresh = [number for number, mark in enumerate(source.marks) if mark not in known]
    text = source.utf8[source.start :]
    if len(fresh) < len(source.marks):
        text = _without_known(source, frozenset(fresh))
    tree = read_tree(text)
    if tree is None:
        return Unreadable(reason="malformed", detail="no element could be read")
    if walk.format_of(tree.root) is None:
        return sniff.name_root(tree.root.tag, text[:200_000].decode("utf-8", "replace"))
    feed = _read(document, decoded, limits, source, tree, fresh)
    if feed is None:  # the cut-out entries were not where the scan saw them: read everything
        return parse_markup(document, decoded, limits, frozenset())
    return feed


def _prepare(document: RawDocument, decoded: Decoded) -> _Source | None:
    start = sniff.feed_start(decoded.utf8)
    prolog = read_prolog(decoded.utf8, start)
    if prolog.root < 0:
        return None
    repairs = list(decoded.repairs)
    if decoded.utf8[:start].strip():
        repairs.append(Repair(code="leading-junk", detail=f"{start} bytes before the document"))
    elif start and decoded.utf8.startswith(b"<?xml", start):
        repairs.append(Repair(code="leading-junk", detail="white space before the declaration"))
    if prolog.doctypes:
        repairs.append(Repair(code="doctype-ignored"))
    utf8 = without_doctype(decoded.utf8, prolog)
    scan = slices.scan_entries(utf8, prolog.root)
    first = scan.spans[0][0] if scan.spans else len(utf8)
    marks = slices.digests(utf8, scan.spans, slices.context_of(utf8, prolog.root, first))
    return _Source(
        utf8=utf8,
        start=start,
        root=prolog.root,
        spans=scan.spans,
        cut_entry=scan.cut,
        marks=marks,
        places=slices.raw_slices(scan.spans, marks, decoded, document.body),
        repairs=tuple(repairs),
    )


def _without_known(source: _Source, fresh: frozenset[int]) -> bytes:
    """The document without the entries that the caller knows already."""
    pieces: list[bytes] = []
    position = source.start
    for number, (start, end) in enumerate(source.spans):
        if number not in fresh:
            pieces.append(source.utf8[position:start])
            position = end
    pieces.append(source.utf8[position:])
    return b"".join(pieces)


def _read(
    document: RawDocument,
    decoded: Decoded,
    limits: ParseLimits,
    source: _Source,
    tree: Tree,
    fresh: list[int],
) -> ParsedFeed | None:
    notes: set[RepairCode] = set()
    scope = Scope(
        base=document.url,
        lang=None,
        inherits=b"xml:base" in source.utf8 or b"xml:lang" in source.utf8,
        limits=limits,
        notes=notes,
    )
    containers, elements = walk.split(tree.root)
    form = walk.format_of(tree.root)
    fields, inside = walk.read_feed(containers, scope)
    if tree.sound:
        if len(fresh) < len(source.marks) and len(elements) != len(fresh):
            return None
        entries = _read_elements(elements, inside, _places(source, fresh, len(elements)))
    elif source.spans:
        notes.add("items-salvaged")
        entries = _read_slices(source, fresh[: limits.max_items], inside)
    else:
        entries = _read_elements(elements, inside, None)
    if form is not None and form.startswith("atom"):
        entries = _with_feed_authors(entries, fields)
    cut = _is_cut(tree, source)
    capped = len(elements if tree.sound else fresh) > limits.max_items
    return ParsedFeed(
        **fields,
        format=form or "rss20",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        entries=entries,
        touched=_touched(source, fresh),
        repairs=_repairs(source, tree, notes, limits, cut=cut, capped=capped),
        truncated=cut or capped,
    )


def _places(source: _Source, fresh: list[int], elements: int) -> list[Slice] | None:
    """The slices of the entries to read; None when scan and tree do not agree on them."""
    if source.places is None or len(fresh) != elements:
        return None
    return [source.places[number] for number in fresh]


def _read_elements(
    elements: list[etree._Element], scope: Scope, places: list[Slice] | None
) -> tuple[ParsedEntry, ...]:
    elements = elements[: scope.limits.max_items]
    if places is None:
        return tuple([walk.read_entry(element, scope, None) for element in elements])
    return tuple(
        [
            walk.read_entry(element, scope, place)
            for element, place in zip(elements, places, strict=False)
        ]
    )


def _read_slices(source: _Source, fresh: list[int], scope: Scope) -> tuple[ParsedEntry, ...]:
    """Every entry from its own bytes, wrapped in the root's start tag for its namespaces."""
    tag = source.utf8[source.root : source.utf8.find(b">", source.root) + 1]
    if len(tag) * len(fresh) > _WRAPPING_BYTES or tag.endswith(b"/>") or not tag:
        tag = b"<feed>"
    found = _TAG_NAME.match(tag)
    end = b"</" + (found[1] if found else b"feed") + b">"
    entries: list[ParsedEntry] = []
    for number in fresh:
        first, last = source.spans[number]
        element = _read_slice(tag + source.utf8[first:last] + end)
        if element is not None:
            place = source.places[number] if source.places is not None else None
            entries.append(walk.read_entry(element, scope, place))
    return tuple(entries)


def _read_slice(wrapped: bytes) -> etree._Element | None:
    root = parse_strictly(wrapped)
    if root is None:
        root, _ = recover(mend(wrapped)[0])
    return root[0] if root is not None and len(root) else None


def _with_feed_authors(
    entries: tuple[ParsedEntry, ...], fields: dict[str, Any]
) -> tuple[ParsedEntry, ...]:
    """RFC 4287 §4.2.1: an entry without an author has its source's, else the feed's."""
    authors = fields.get("authors", ())
    return tuple(
        [
            entry
            if entry.authors or not (inherited := _source_authors(entry) or authors)
            else replace(entry, authors=inherited)
            for entry in entries
        ]
    )


def _source_authors(entry: ParsedEntry) -> tuple[object, ...]:
    return entry.source.authors if entry.source is not None else ()


def _is_cut(tree: Tree, source: _Source) -> bool:
    """The document ended too early: the parser says so, and the root's end tag is missing."""
    if not (tree.cut or tree.deep or source.cut_entry):
        return False
    found = _TAG_NAME.match(source.utf8, source.root)
    name = found[1] if found else b""
    return tree.deep or source.utf8.rfind(b"</" + name) < source.root


def _touched(source: _Source, fresh: list[int]) -> tuple[Slice, ...]:
    if source.places is None or len(fresh) == len(source.marks):
        return ()
    unknown = frozenset(fresh)
    return tuple([place for number, place in enumerate(source.places) if number not in unknown])


def _repairs(
    source: _Source,
    tree: Tree,
    notes: set[RepairCode],
    limits: ParseLimits,
    *,
    cut: bool,
    capped: bool,
) -> tuple[Repair, ...]:
    repairs = [*source.repairs, *tree.repairs]
    repairs += [Repair(code=note, detail=_NOTES[note]) for note in sorted(notes)]
    if cut:
        detail = "the document ends in the middle; an entry that was cut is not kept"
        repairs.append(Repair(code="truncated", detail=detail))
    if capped:
        repairs.append(Repair(code="items-capped", detail=f"only {limits.max_items:,} are read"))
    return tuple(repairs)
