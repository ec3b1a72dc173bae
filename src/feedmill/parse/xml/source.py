"""Prepares a markup document for parsing: where it begins, and where its entries stand."""
# Tested in tests/unit/parse/xml/test_tree.py

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import KnownSlices, Repair, Slice
from feedmill.parse.input.encoding import Decoded, decode
from feedmill.parse.input.offsets import Spans
from feedmill.parse.input.sniff import find_feed_start
from feedmill.parse.xml import slices
from feedmill.parse.xml.prolog import without_doctype, without_wrong_namespace

_NONE: Final[tuple[Slice, ...]] = ()
_DECLARED_IN: Final = 100  # bytes in which a declaration names the encoding


class MarkupSource(Value):
    """The bytes to parse, and the entries that a scan found in them."""

    utf8: bytes
    start: int
    root: int
    scan: slices.Scan
    places: tuple[Slice, ...] | None
    marks: tuple[str, ...]
    repairs: tuple[Repair, ...]

    @property
    def spans(self) -> Spans:
        return self.scan.spans

    def unknown(self, known: KnownSlices) -> list[int]:
        """The numbers of the entries to read; all of them when none could be pointed at."""
        if self.places is None or not known:
            return list(range(len(self.marks)))
        return [number for number, mark in enumerate(self.marks) if mark not in known]

    def touched(self, unknown: list[int]) -> tuple[Slice, ...]:
        """The slices of the entries that are not read."""
        if self.places is None or len(unknown) == len(self.marks):
            return _NONE
        numbers = frozenset(unknown)
        return tuple([place for number, place in enumerate(self.places) if number not in numbers])

    def place(self, number: int) -> Slice | None:
        return self.places[number] if self.places is not None else None

    def text_with(self, numbers: list[int]) -> bytes:
        """The document with only some of its entries."""
        kept = frozenset(numbers)
        others = [span for number, span in enumerate(self.spans) if number not in kept]
        return _without(self.utf8, self.start, others)


def scan_known(body: bytes, max_items: int, known: KnownSlices) -> slices.Scan | None:
    """Find the entries before the document is decoded; None where that saves nothing."""
    worth_it = isinstance(known, Mapping) and known and not body.isascii()
    if not worth_it or b"utf-8" not in body[:_DECLARED_IN].lower():
        return None
    root = find_feed_start(body)[1].root
    return slices.scan_entries(body, root, max_items, known) if root >= 0 else None


def decode_unknown(document: RawDocument, scan: slices.Scan, limits: ParseLimits) -> Decoded | None:
    """The document, decoded as what is not known of it reads; None unless that is plain UTF-8.

    The bytes of known entries are those that were hashed: UTF-8 in which nothing is left to undo.
    """
    if not scan.marks:
        return None
    known = [span for span in scan.spans if span[0] in scan.marks]
    rest = _without(document.body, 0, known)
    decoded = decode(rest, document.content_type, limits)
    plain = decoded.utf8 is rest and decoded.encoding == "utf-8"
    return replace(decoded, utf8=document.body) if plain else None


def prepare_source(
    document: RawDocument,
    decoded: Decoded,
    max_items: int,
    known: KnownSlices,
    scan: slices.Scan | None = None,
) -> MarkupSource | None:
    """Find the root and the entries; None when there is no element at all."""
    start, prolog = find_feed_start(decoded.utf8)
    if prolog.root < 0:
        return None
    repairs = list(decoded.repairs)
    if decoded.utf8[:start].strip(b"\x00 \t\r\n\xef\xbb\xbf"):
        repairs.append(Repair(code="leading-junk", detail=f"{start} bytes before the document"))
    elif start and decoded.utf8.startswith(b"<?xml", start):
        repairs.append(Repair(code="leading-junk", detail="white space before the declaration"))
    if prolog.doctypes:
        repairs.append(Repair(code="doctype-ignored"))
    written = without_doctype(decoded.utf8, prolog)
    utf8 = without_wrong_namespace(written, prolog.root)
    if utf8 is not written:
        detail = "the namespace of the root is not that of its format"
        repairs.append(Repair(code="namespace-guessed", detail=detail))
    if scan is None:
        # In another encoding the lengths of the raw body mean nothing here.
        hints = known if decoded.encoding == "utf-8" else frozenset[str]()
        scan = slices.scan_entries(utf8, prolog.root, max_items, hints)
    marks = _marks(utf8, prolog.root, scan)
    return MarkupSource(
        utf8=utf8,
        start=start,
        root=prolog.root,
        scan=scan,
        places=slices.raw_slices(scan.spans, marks, decoded, document.body),
        marks=marks,
        repairs=tuple(repairs),
    )


def realign_spans(
    source: MarkupSource,
    tree: etree._Element,
    elements: list[etree._Element],
    decoded: Decoded,
    document: RawDocument,
    max_items: int,
) -> MarkupSource:
    """The source with the spans of a sound tree's own entries, in place of those of the scan."""
    entries = frozenset(elements[:max_items])
    wanted = [number for number, element in enumerate(tree.iter("*")) if element in entries]
    spans = slices.spans_of(source.utf8, source.root, wanted) or ()
    if not all(map(partial(_begins_with, source.utf8), spans, elements)):
        spans = ()
    scan = slices.Scan(name=source.scan.name, spans=spans, more=len(elements) > max_items)
    marks = _marks(source.utf8, source.root, scan)
    return replace(
        source,
        scan=scan,
        places=slices.raw_slices(spans, marks, decoded, document.body),
        marks=marks,
    )


def _without(utf8: bytes, start: int, spans: Iterable[tuple[int, int]]) -> bytes:
    """The bytes from a place on, without these spans."""
    pieces: list[bytes] = []
    for first, end in spans:
        pieces.append(utf8[start:first])
        start = end
    pieces.append(utf8[start:])
    return b"".join(pieces)


def _begins_with(utf8: bytes, span: tuple[int, int], element: etree._Element) -> bool:
    """True when the element's own name stands there, which it does not where tags were mended."""
    local = element.tag.rpartition("}")[2]
    name = f"{element.prefix}:{local}" if element.prefix else local
    return utf8.startswith(b"<" + name.encode(), span[0])


def _marks(utf8: bytes, root: int, scan: slices.Scan) -> tuple[str, ...]:
    if not scan.spans:
        return ()
    if len(scan.marks) == len(scan.spans) and not scan.more:  # all of them are known
        return tuple(scan.marks.values())
    context = scan.context
    if context is None:
        context = slices.context_of(utf8, root, scan.spans[0][0])
    return slices.digests(utf8, scan.spans, context, scan.marks)
