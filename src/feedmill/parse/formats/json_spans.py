"""Lenient JSON: the envelope of a feed, and the span of each item in the bytes.

msgspec reads a sound document and hands each item over as raw bytes. One that is not quite JSON
(NaN, a comma too many, a cut end) is walked token by token, so that one broken item costs one
item, and what can be read of it is read with the standard library's decoder.
"""
# Tested in tests/unit/parse/formats/test_jsonfeed.py

import json
import re
from typing import Any, Final

import msgspec

from feedmill.model.base import Value
from feedmill.parse.input.encoding import windows_character
from feedmill.parse.xml.slices import Spans

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"?'
_TOKEN: Final = re.compile(_STRING + rb"|[\[\]{},]", re.DOTALL)
_ITEMS_KEY: Final = re.compile(rb'"items"\s*:\s*\[\s*')
_COLON_LIST: Final = re.compile(rb"\s*:\s*\[")
# Everything between the commas that are too many: those before another one or a closing bracket.
_SENSE: Final = re.compile(r'((?:[^",]++|"(?:[^"\\]++|\\.)*+"?|,(?!\s*+[,}\]]))++)|,', re.DOTALL)
_AFTER_COMMA: Final = frozenset(",}]")
_UNSTORABLE: Final = re.compile("[\x00\x80-\x9f\ud800-\udfff]")
_C1: Final = re.compile(rb"\xc2[\x80-\x9f]|\\u00[89]")
_MAX_TOKENS: Final = 250_000  # a broken document with more is not worth the time
_MAX_ENVELOPE: Final = 1_000_000  # bytes around the items of a broken document


class Envelope(msgspec.Struct):
    """The fields of a feed; each may be anything, because publishers make mistakes."""

    version: Any = None
    title: Any = None
    items: list[msgspec.Raw] = []
    home_page_url: Any = None
    feed_url: Any = None
    description: Any = None
    next_url: Any = None
    icon: Any = None
    favicon: Any = None
    author: Any = None
    authors: Any = None
    language: Any = None
    expired: Any = None
    hubs: Any = None


class JsonText(Value):
    """The envelope's fields and the spans of the items, however they were won."""

    fields: dict[str, Any]
    spans: Spans
    repaired: bool = False
    cut: bool = False


class _Walk(Value):
    """What a walk over the tokens found: the items, and where their list begins and ends."""

    spans: Spans
    first: int  # behind the [ of the items, or -1
    last: int  # at its ], or where the document ends
    comma: int  # the last comma between two fields of the envelope
    cut: bool


def read_json_spans(utf8: bytes, max_items: int) -> JsonText | None:
    """The parts of a JSON document that could be a feed; None when it is no object.

    There is one span more than `max_items` where there are more items.
    """
    return _read_strictly(utf8, max_items + 1) or _read_leniently(utf8)


def parse_lenient_json(utf8: bytes) -> Any:
    """One value, forgiving NaN, control characters and commas too many; None when unreadable."""
    text = utf8.decode("utf-8", "replace")
    try:
        return _decoder.raw_decode(text)[0]
    except RecursionError:
        return None
    except json.JSONDecodeError as error:
        if text[error.pos : error.pos + 1] not in _AFTER_COMMA:
            return None
    try:
        return _decoder.raw_decode("".join(_SENSE.findall(text)))[0]
    except (ValueError, RecursionError):
        return None


def stored_text(text: str) -> str:
    """The text without NUL, with U+FFFD for half a surrogate pair (RFC 8259 §8.2).

    C1 controls become the windows-1252 letters that their writer meant, as in XML.
    """
    return _UNSTORABLE.sub(_stored, text)


def has_c1_controls(utf8: bytes) -> bool:
    """Whether C1 controls stand in the document, as characters or as escapes."""
    return _C1.search(utf8) is not None


def _read_strictly(utf8: bytes, most: int) -> JsonText | None:
    try:
        envelope = msgspec.json.decode(utf8, type=Envelope)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    spans = _spans_of(utf8, [bytes(item) for item in envelope.items[:most]])
    fields = {name: getattr(envelope, name) for name in Envelope.__struct_fields__}
    return None if spans is None else JsonText(fields=fields, spans=spans)


def _spans_of(utf8: bytes, items: list[bytes]) -> Spans | None:
    """Where the items stand: behind the last "items" key (the one that counts) that they fit."""
    if not items:
        return ()
    starts = [key.end() for key in _ITEMS_KEY.finditer(utf8)]
    position = next((at for at in reversed(starts) if utf8.startswith(items[0], at)), -1)
    if position < 0:  # the key is written with escapes
        return None
    spans: list[tuple[int, int]] = []
    for item in items:
        start = utf8.find(item, position)
        position = start + len(item)
        spans.append((start, position))
    return tuple(spans)


def _read_leniently(utf8: bytes) -> JsonText | None:
    walk = _walk(utf8)
    fields = _object(_envelope(utf8, walk))
    if fields is None and walk.cut and walk.comma > 0:
        fields = _object(utf8[: walk.comma] + b"}")
    if fields is None:
        return None
    return JsonText(fields=fields, spans=walk.spans, repaired=True, cut=walk.cut)


def _envelope(utf8: bytes, walk: _Walk) -> bytes:
    """The document with an empty list of items."""
    if walk.first < 0:
        return utf8
    return utf8[: walk.first] + (b"]}" if walk.last >= len(utf8) else utf8[walk.last :])


def _object(utf8: bytes) -> dict[str, Any] | None:
    value = parse_lenient_json(utf8) if len(utf8) <= _MAX_ENVELOPE else None
    return value if isinstance(value, dict) else None


def _walk(utf8: bytes) -> _Walk:
    spans: list[tuple[int, int]] = []
    depth = opened = position = comma = 0
    first, last = -1, len(utf8)
    for _ in range(_MAX_TOKENS):
        found = _TOKEN.search(utf8, position)
        if found is None:
            break
        position = found.end()
        token = found.group()
        if token in (b"{", b"["):
            depth += 1
            if depth == 3 and first >= 0 and last == len(utf8):
                opened = found.start()
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 2 and opened:
                spans.append((opened, position))
                opened = 0
            elif depth == 1 and first >= 0 and last == len(utf8):
                last = found.start()
            elif depth <= 0:
                break
        elif depth == 1 and token == b",":
            comma = found.start()
        elif depth == 1 and first < 0 and _is_items(token) and _COLON_LIST.match(utf8, position):
            first = utf8.find(b"[", position) + 1
    return _Walk(spans=tuple(spans), first=first, last=last, comma=comma, cut=depth > 0)


def _is_items(token: bytes) -> bool:
    """True for the key, with or without escapes in it."""
    return token == b'"items"' or (b"\\u" in token[:32] and parse_lenient_json(token) == "items")


def _stored(found: re.Match[str]) -> str:
    character = found.group()
    if "\x80" <= character <= "\x9f":
        return windows_character(ord(character))
    return "" if character == "\x00" else "\ufffd"


# Numbers stay as they were written: one of a million digits is text, not arithmetic
# (CVE-2020-10735), and 1.50 is an id of its own.
_decoder: Final = json.JSONDecoder(
    strict=False, parse_int=str, parse_float=str, parse_constant=lambda _: None
)
