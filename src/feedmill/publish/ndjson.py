"""NDJSON lines: one event per line, without any other line separator inside."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from feedmill.model.event import Event
from feedmill.publish.cloudevents import cloudevent

# Legal inside JSON strings, but line ends to str.splitlines() and to some NDJSON readers.
_SEPARATORS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
_DIGITS: Final = re.compile("[0-9]{1,20}")


def event_line(event: Event) -> bytes:
    """The event as JSON with a final newline and no other line end of any kind."""
    return _line(event)


def cloudevent_line(event: Event, source: str) -> bytes:
    """The same in the envelope of CloudEvents."""
    return _line(cloudevent(event, source))


def json_line(value: object) -> bytes:
    """Any value as one line, as safe as an event."""
    return _line(value)


def json_lines(values: Iterable[object]) -> bytes:
    """The same for many, at once."""
    return _without_separators(b"".join(msgspec.json.encode(one) + b"\n" for one in values))


def position_of_line(line: bytes) -> tuple[int, str]:
    """The number and the id of the event on a line of either kind; 0 for a line that was cut."""
    try:
        found = msgspec.json.decode(line, type=_Numbered)
    except msgspec.DecodeError:
        return 0, ""
    return int(found.sequence) if _DIGITS.fullmatch(found.sequence) else found.seq, found.id


class _Numbered(msgspec.Struct):
    id: str = ""
    seq: int = 0
    sequence: str = ""  # of CloudEvents


def _line(value: object) -> bytes:
    return _without_separators(msgspec.json.encode(value)) + b"\n"


def _without_separators(lines: bytes) -> bytes:
    for raw, escaped in _SEPARATORS:
        lines = lines.replace(raw, escaped)
    return lines
