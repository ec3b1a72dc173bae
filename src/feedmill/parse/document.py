"""Parses a feed, from bytes to values. START HERE in parse/.

    sniff      is it markup, JSON, a page, a picture?
    encoding   which encoding, and what had to be mended (labels, detection)
    source     where the document begins; its DOCTYPE is blanked (prolog)
    slices     where each entry stands in the text, and in the raw bytes (offsets)
    xml        a tree: strictly, then repaired, then recovered (mending)
    walk       the tree in the publisher's words
    salvage    the entries of a broken document, one by one
    jsonfeed   the same for JSON Feed (jsontext)

A sound document is parsed once, as a whole. From a broken one every entry is read from its own
slice, so that one broken entry costs one entry.
"""

import re
from itertools import islice
from typing import Final

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import KnownSlices, ParsedFeed, Unreadable
from feedmill.parse.formats.jsonfeed import parse_json
from feedmill.parse.input import sniff
from feedmill.parse.input.encoding import Decoded, decode
from feedmill.parse.input.sniff import DocumentKind, holds_feed
from feedmill.parse.xml.feed import parse_markup
from feedmill.parse.xml.source import decode_unknown, scan_known

_DEFAULTS: Final = ParseLimits()
_NOTHING: Final[frozenset[str]] = frozenset()
_FREE_BYTES: Final = 1_000_000  # shorter documents are not counted
_VALUE: Final = re.compile(rb"""=\s*+["']""")  # an attribute's, in markup


def parse_document(
    document: RawDocument,
    limits: ParseLimits = _DEFAULTS,
    known: KnownSlices = _NOTHING,
) -> ParsedFeed | Unreadable:
    """Read a feed in any supported format; never raises on bad input.

    Entries whose slice digest is in `known` are not read again: they come back in `touched`
    (D31). Where their lengths are known too, they are found without being looked at.
    """
    body = document.body
    if len(body) > limits.max_bytes:
        detail = f"{len(body):,} bytes; the limit is {limits.max_bytes:,}"
        return Unreadable(reason="too-large", detail=detail)
    kind = sniff.kind_of(body)
    if kind == "empty":
        return Unreadable(reason="empty", detail="there is nothing in the body")
    if kind == "binary":
        return sniff.classify_binary(body)
    refusal = _refuse_oversized(body, kind, limits)
    if refusal is not None:
        return refusal
    scan = scan_known(body, limits.max_items, known) if kind == "markup" else None
    decoded = decode_unknown(document, scan, limits) if scan is not None else None
    if decoded is None:
        decoded = decode(body, document.content_type, limits)
    if (
        decoded.utf8 is not body
        and (refusal := _refuse_oversized(decoded.utf8, kind, limits)) is not None
    ):
        return refusal
    if kind == "json":
        return _parse_json(document, decoded, limits, known)
    if kind == "html":
        return sniff.classify_page(decoded.utf8[:200_000].decode("utf-8", "replace"))
    if kind == "text":
        return Unreadable(reason="not-a-feed", detail="plain text without any markup")
    return parse_markup(document, decoded, limits, known, scan if decoded.utf8 is body else None)


def _parse_json(
    document: RawDocument, decoded: Decoded, limits: ParseLimits, known: KnownSlices
) -> ParsedFeed | Unreadable:
    """Read JSON; "[warning] ..." only begins like it and may yet be junk before a feed."""
    read = parse_json(document, decoded, limits, known)
    if isinstance(read, ParsedFeed) or read.reason != "malformed":
        return read
    if (
        not holds_feed(decoded.utf8)
        or _refuse_oversized(decoded.utf8, "markup", limits) is not None
    ):
        return read
    markup = parse_markup(document, decoded, limits, known)
    return markup if isinstance(markup, ParsedFeed) else read


def _refuse_oversized(text: bytes, kind: DocumentKind, limits: ParseLimits) -> Unreadable | None:
    """A refusal if there is more in a long document than a tree of it may cost (D28).

    Counted in the bytes before anything is made of them: every `<`, and every attribute; in JSON
    every comma and every bracket that opens, which bounds its values and its keys.
    """
    if len(text) <= _FREE_BYTES:
        return None
    if kind == "json":
        return _refuse_above(sum(map(text.count, (b",", b"{", b"["))), limits.max_tags, "values")
    if kind != "markup":
        return None
    attributes = count_attributes(text, limits.max_attributes)
    return _refuse_above(text.count(b"<"), limits.max_tags, "tags") or _refuse_above(
        attributes, limits.max_attributes, "attributes"
    )


def count_attributes(text: bytes, most: int) -> int:
    """Count the attributes of markup, up to one more than `most`; a = alone is none."""
    if text.count(b"=") <= most:
        return 0
    return sum(1 for _ in islice(_VALUE.finditer(text), most + 1))


def _refuse_above(count: int, most: int, what: str) -> Unreadable | None:
    if count <= most:
        return None
    return Unreadable(reason="too-large", detail=f"{count:,} {what}; the limit is {most:,}")
