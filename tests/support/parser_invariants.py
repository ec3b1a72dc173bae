"""What holds for every sequence of bytes that is called a feed.

`check` raises `AssertionError` with the law that was broken; anything else that it raises was
raised by the parser, which breaks the first law: a stranger's input never raises.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec

from feedmill.config import ParseLimits
from feedmill.model.entry import NormalisedFeed
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Slice, Unreadable
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_LIMITS: Final = ParseLimits()
_URL: Final = "https://example.org/feed"
_ABOUT_ENTRIES: Final = frozenset({"entries", "touched", "repairs", "truncated"})


def check(body: bytes, content_type: str | None = None) -> ParsedFeed | Unreadable:
    """Read the bytes and hold the answer to every law."""
    document = RawDocument(body=body, url=_URL, content_type=content_type)
    feed = parse_document(document)
    assert isinstance(feed, ParsedFeed | Unreadable)
    assert parse_document(document) == feed, "reading twice gives two answers"
    if isinstance(feed, ParsedFeed):
        _check_texts(feed)
        _check_slices(feed, body)
        _check_known(feed, document)
        _check_normalised(feed)
    return feed


def check_slices_alone(feed: ParsedFeed, body: bytes) -> None:
    """An entry of a sound document reads the same from its slice alone (D14)."""
    for entry in feed.entries:
        if entry.slice is not None:
            piece = body[entry.slice.offset : entry.slice.offset + entry.slice.length]
            alone = parse_document(RawDocument(body=_wrapped(feed, body, piece), url=_URL))
            assert isinstance(alone, ParsedFeed), "a slice alone cannot be read"
            assert [_essence(one) for one in alone.entries] == [_essence(entry)]


def _essence(entry: ParsedEntry) -> tuple[str | None, str | None]:
    return entry.id, entry.title.value if entry.title else None


def _wrapped(feed: ParsedFeed, body: bytes, piece: bytes) -> bytes:
    """A slice between what stood before the first entry and what stood after the last one."""
    places = [entry.slice for entry in feed.entries if entry.slice is not None]
    last = places[-1]
    return body[: places[0].offset] + piece + body[last.offset + last.length :]


def _check_texts(feed: ParsedFeed) -> None:
    encoded = msgspec.json.encode(feed)
    assert b"\\u0000" not in encoded, "a NUL reached a text"
    for text in _texts(msgspec.to_builtins(feed)):
        assert "\0" not in text, "a NUL reached a text"
        text.encode("utf-8")


def _check_slices(feed: ParsedFeed, body: bytes) -> None:
    places = sorted(_places(feed), key=lambda place: place.offset)
    for place in places:
        assert place.length > 0, "a slice is empty"
        assert 0 <= place.offset <= place.offset + place.length <= len(body), "a slice lies outside"
    for one, following in pairwise(places):
        assert one.offset + one.length <= following.offset, "two slices overlap"


def _check_known(feed: ParsedFeed, document: RawDocument) -> None:
    """D31: what is known is touched and not read, and the feed's own facts stay what they were."""
    known = frozenset(place.digest for place in _places(feed))
    again = parse_document(document, _LIMITS, known)
    assert isinstance(again, ParsedFeed)
    for name in ParsedFeed.__struct_fields__:
        if name not in _ABOUT_ENTRIES:
            assert getattr(again, name) == getattr(feed, name), f"{name} depends on what is known"
    unread = {place.digest for place in again.touched}
    assert unread <= known, "an entry was touched that nobody knew"
    read = {place.digest for place in _places(again)} - unread
    assert not read & known, "a known entry was read again"


def _check_normalised(feed: ParsedFeed) -> None:
    clean = normalise(feed, url=_URL)
    assert isinstance(clean, NormalisedFeed)
    assert len(clean.entries) == len(feed.entries)
    assert b"\\u0000" not in msgspec.json.encode(clean), "a NUL reached a clean text"


def _places(feed: ParsedFeed) -> list[Slice]:
    own = [entry.slice for entry in feed.entries if entry.slice is not None]
    return own + list(feed.touched)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
