"""One event as one line: NDJSON that no reader can split in the wrong place."""

from typing import Final

import msgspec

from feedmill.model.event import Event

# Legal inside JSON strings, but line ends to str.splitlines() and to some NDJSON readers.
_SEPARATORS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)


def event_line(event: Event) -> bytes:
    """The event as JSON with a final newline and no other line end of any kind."""
    line = msgspec.json.encode(event)
    for raw, escaped in _SEPARATORS:
        line = line.replace(raw, escaped)
    return line + b"\n"


def seq_of_line(line: bytes) -> int:
    """The number of the event on a line; 0 for a line that was cut."""
    try:
        return msgspec.json.decode(line, type=_Numbered).seq
    except msgspec.DecodeError:
        return 0


class _Numbered(msgspec.Struct):
    seq: int
