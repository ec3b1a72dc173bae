"""NDJSON lines: one event or entry per line, without any other line separator inside."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from feedmill.model.event import Event, StoredEntry
from feedmill.model.page import LinePage
from feedmill.publish.cloudevents import cloudevent

# Legal inside JSON strings, but line ends to str.splitlines() and to some NDJSON readers.
_SEPARATORS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
ENTRY_CHANGES: Final = {"new_entry": "new", "entry.updated": "updated"}
_DIGITS: Final = re.compile("[0-9]{1,20}")
# A line that a disk damaged may hold octets that are no UTF-8, or nothing but brackets.
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def event_line(event: Event) -> bytes:
    """The event as JSON with a final newline and no other line end of any kind."""
    return _line(event)


def cloudevent_line(event: Event, source: str) -> bytes:
    """The same in the envelope of CloudEvents."""
    return _line(cloudevent(event, source))


def entry_line(event: Event, entry: StoredEntry) -> bytes:
    """The whole entry on a line, after the event that it came in or changed by."""
    change = {
        "seq": event.seq,
        "event_id": event.id,
        "change": ENTRY_CHANGES[event.type],
        "changed_at": event.occurred_at,
    }
    line = msgspec.json.encode(change)[:-1] + b"," + msgspec.json.encode(entry)[1:]
    return _without_separators(line) + b"\n"


def json_lines(values: Iterable[object]) -> bytes:
    """Any values, each on a line as safe as that of an event."""
    return _without_separators(b"".join(msgspec.json.encode(one) + b"\n" for one in values))


def page_lines(page: LinePage) -> bytes:
    """The same of a page whose items are JSON already."""
    return _without_separators(page.lines + b"\n") if page.lines else b""


def position_of_line(line: bytes) -> tuple[int, str]:
    """The number and the id of the event on a line of either kind; 0 for a line that was cut or damaged."""
    try:
        found = msgspec.json.decode(line, type=_Numbered)
    except _UNREADABLE:
        return 0, ""
    number = int(found.sequence) if _DIGITS.fullmatch(found.sequence) else found.seq
    return number, found.event_id or found.id


def is_event_line(line: bytes) -> bool:
    """True for a line of either kind of event, False for one of an entry and one that was cut or damaged."""
    try:
        return bool(msgspec.json.decode(line, type=_Numbered).id)
    except _UNREADABLE:
        return False


class _Numbered(msgspec.Struct):
    id: str = ""
    event_id: str = ""  # of a line of an entry
    seq: int = 0
    sequence: str = ""  # of CloudEvents


def _line(value: object) -> bytes:
    return _without_separators(msgspec.json.encode(value)) + b"\n"


def _without_separators(lines: bytes) -> bytes:
    # A single byte is found thirty times as fast as three, and few texts have these at all.
    for raw, escaped in _SEPARATORS:
        if raw[-1] in lines:
            lines = lines.replace(raw, escaped)
    return lines
