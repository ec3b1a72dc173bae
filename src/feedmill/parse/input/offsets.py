"""Maps spans of the UTF-8 text back to offsets in the raw bytes of another encoding (D14).

Every answer was checked by decoding the raw bytes again, except where a character is a byte.
"""
# Tested in tests/unit/parse/xml/test_slices.py

import codecs
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from feedmill.parse.input.encoding import Decoded
from feedmill.parse.input.encoding_labels import ONE_BYTE

Spans = tuple[tuple[int, int], ...]

_BOUNDARY: Final = re.compile(rb"(?=<)|(?<=>)|(?=\{)|(?<=\})|\Z")
_MAX_BOUNDARIES: Final = 100_000  # where more of them are decoded apart, no slice is worth it


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
