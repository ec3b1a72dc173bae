"""Prepares a markup document for parsing: where it begins, and where its entries stand.

Maps spans of the UTF-8 text back to offsets in the raw bytes of another encoding (D14).

Every answer was checked by decoding the raw bytes again, except where a character is a byte.
"""
# Tested in tests/unit/parse/xml/test_tree.py
# Tested in tests/unit/parse/xml/test_slices.py

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import KnownSlices, Repair, Slice
from feedmill.parse.input.encoding import Decoded, decode
from feedmill.parse.input.encoding_labels import ONE_BYTE
from feedmill.parse.input.sniff import find_feed_start
from feedmill.parse.xml import slices
from feedmill.parse.xml.names import without_doctype, without_wrong_namespace
from feedmill.parse.xml.slices import Spans

_NONE: Final[tuple[Slice, ...]] = ()
_DECLARED_IN: Final = 100  # bytes in which a declaration names the encoding
_BOUNDARY: Final = re.compile(rb"(?=<)|(?<=>)|(?=\{)|(?<=\})|\Z")
_MAX_BOUNDARIES: Final = 100_000  # where more of them are decoded apart, no slice is worth it


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
        places=raw_slices(scan.spans, marks, decoded, document.body),
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
        places=raw_slices(spans, marks, decoded, document.body),
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


def raw_slices(
    spans: Spans, marks: tuple[str, ...], decoded: Decoded, raw: bytes
) -> tuple[Slice, ...] | None:
    """The spans in the raw body's own bytes; None when the way back is not exact."""
    places = raw_spans(spans, decoded, raw)
    if places is None:
        return None
    return tuple(
        [
            Slice(offset=start, length=end - start, digest=mark)
            for (start, end), mark in zip(places, marks, strict=True)
        ]
    )


def raw_spans(spans: Spans, decoded: Decoded, raw: bytes) -> Spans | None:
    """The spans in the raw body's own bytes; None when the way back is not exact."""
    if not spans or (decoded.encoding == "utf-8" and decoded.lossless):
        return _shifted(spans, decoded.bom_length)
    body = raw[decoded.bom_length :]
    if decoded.encoding in ONE_BYTE:
        return _shifted(tuple(_in_characters(spans, decoded.utf8)), decoded.bom_length)
    for measure in (_by_encoding, _by_marks, _by_decoding):
        places = measure(spans, decoded, body)
        if places is not None and _fit(places, spans, decoded, body):
            return _shifted(places, decoded.bom_length)
    return None


def _shifted(spans: Spans, length: int) -> Spans:
    return tuple([(start + length, end + length) for start, end in spans]) if length else spans


def _in_characters(spans: Spans, utf8: bytes) -> Iterator[tuple[int, int]]:
    """The spans counted in characters instead of UTF-8 bytes."""
    position = count = 0
    for start, end in spans:
        first = count + _characters(utf8, position, start)
        count = first + _characters(utf8, start, end)
        position = end
        yield first, count


def _characters(utf8: bytes, start: int, end: int) -> int:
    return len(utf8[start:end].decode("utf-8", "replace"))


def _by_encoding(spans: Spans, decoded: Decoded, body: bytes) -> Spans | None:  # noqa: ARG001
    """Measured by encoding the text again: right unless the publisher's encoder differs."""
    if not decoded.lossless:
        return None
    places: list[tuple[int, int]] = []
    position = offset = 0
    for start, end in spans:
        first = offset + _length(decoded, position, start)
        offset = first + _length(decoded, start, end)
        position = end
        places.append((first, offset))
    return tuple(places)


def _length(decoded: Decoded, start: int, end: int) -> int:
    text = decoded.utf8[start:end].decode("utf-8", "replace")
    return len(text.encode(decoded.codec, "replace"))


def _by_marks(spans: Spans, decoded: Decoded, body: bytes) -> Spans | None:
    """Measured by counting tags: right where < and > are no part of any other character."""
    text = decoded.utf8
    opening, closing = _positions(b"<", body), _positions(b">", body)
    if len(opening) != text.count(b"<") or len(closing) != text.count(b">"):
        return None
    places: list[tuple[int, int]] = []
    position = starts = ends = 0
    for start, end in spans:
        starts += text.count(b"<", position, start)
        ends += text.count(b">", position, end)
        if text[start] != 0x3C:
            return None
        first = opening[starts]
        starts += text.count(b"<", start, end)
        # An entry that was never closed ends where another tag begins.
        closed = text[end - 1] == 0x3E
        if not closed and text[end : end + 1] != b"<":
            return None
        places.append((first, closing[ends - 1] + 1 if closed else opening[starts]))
        position = end
    return tuple(places)


def _positions(mark: bytes, body: bytes) -> list[int]:
    return [found.start() for found in re.finditer(mark, body)]


def _by_decoding(spans: Spans, decoded: Decoded, body: bytes) -> Spans | None:
    """Measured by decoding from tag to tag: slower, and indifferent to damage and odd escapes."""
    wanted = list(_in_characters(spans, decoded.utf8))
    decoder = codecs.getincrementaldecoder(decoded.codec)(decoded.errors)
    offsets: dict[int, int] = {}
    position = count = 0
    for boundary in islice(_BOUNDARY.finditer(body), _MAX_BOUNDARIES):
        count += len(decoder.decode(body[position : boundary.start()]))
        position = boundary.start()
        # Half a character in front of a tag counts as the one that replaces it; in ISO-2022-JP
        # what looks like a tag may be the other half.
        half = decoded.encoding != "iso-2022-jp" and decoder.getstate()[0] != b""
        offsets.setdefault(count + half, position)
        if count > wanted[-1][1]:
            break
    return tuple([(offsets.get(first, 0), offsets.get(last, 0)) for first, last in wanted])


def _fit(places: Spans, spans: Spans, decoded: Decoded, body: bytes) -> bool:
    return all(
        last <= len(body) and decoded.read_again(body[first:last]) == decoded.utf8[start:end]
        for (first, last), (start, end) in zip(places, spans, strict=True)
    )
