"""Server-sent events without I/O: octets go in, messages come out (WHATWG HTML §9.2.6)."""

import re
from typing import Final

from feedmill.errors import AnswerError
from feedmill.model.base import Value

_MOST_BYTES: Final = 64 * 1024 * 1024  # of one message; the largest entry is far below
_RETRY_DIGITS: Final = 9  # of milliseconds: days; longer waits are not honoured
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class SseMessage(Value):
    """One message; `id` is the last one that the stream has named."""

    id: str
    event: str
    data: str


class SseParser:
    """Reads a stream as it comes, cut anywhere."""

    def __init__(self) -> None:
        self.retry_sec: float | None = None  # what the server asked for
        self._rest = b""
        self._id, self._event = "", ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, octets: bytes) -> list[SseMessage]:
        """The messages that these octets complete."""
        whole = self._rest + octets
        # A carriage return at the very end may be the first half of a line end.
        usable = len(whole) - 1 if whole.endswith(b"\r") else len(whole)
        lines = _LINE_END.split(whole[:usable])
        self._rest = lines.pop() + whole[usable:]
        self._bound(len(self._rest))
        return [message for line in lines if (message := self._read(line)) is not None]

    def _read(self, line: bytes) -> SseMessage | None:
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._bound(len(value) + 1)  # a line counts, even an empty one
                self._size += len(value) + 1
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_sec = int(value[:_RETRY_DIGITS]) / 1000
            case _:  # a comment, which keeps the connection alive, or a field of the future
                pass
        return None

    def _dispatch(self) -> SseMessage | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        if not data:
            return None
        return SseMessage(id=self._id, event=event or "message", data="\n".join(data))

    def _bound(self, more: int) -> None:
        if self._size + more > _MOST_BYTES:
            message = "an event larger than the server may send"
            raise AnswerError(message)
