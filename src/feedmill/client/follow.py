"""Follows the event log: each event once and in order, reconnecting as often as needed.

Server-sent events are parsed without I/O: octets go in, messages come out (WHATWG HTML §9.2.6).
"""
# Tested in tests/integration/client/

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import msgspec

from feedmill.client.transport import Transport
from feedmill.errors import AnswerError, BusyError, GapError, ProblemError, UnreachableError
from feedmill.model.base import Value
from feedmill.publish.shapes import EventShape

SILENCE_SEC: Final = 60.0  # heartbeats come far more often
_FIRST_WAIT_SEC: Final = 0.25
_LONGEST_WAIT_SEC: Final = 30.0
_LONGEST_PAUSE_SEC: Final = 3_600.0  # that a server may ask for
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


async def follow(
    transport: Transport, after: int, *, silence_sec: float = SILENCE_SEC
) -> AsyncGenerator[EventShape, None]:
    """Every event after that number, for ever.

    When the connection breaks it is made again, later and later, and goes on after the last event
    that was handed out. What comes twice is handed out once; what is missing is a GapError. A log that
    went back says so with an event `log.rewound`, or refuses the position: RefusedError, `log-rewound`.
    """
    seq, wait = after, _FIRST_WAIT_SEC
    while True:
        pause: float | None = None
        stream = SseParser()
        try:
            async for event in _connection(transport, stream, seq, silence_sec):
                if event.seq <= seq:
                    continue
                if event.seq > seq + 1 and event.type != "log.rewound":
                    raise GapError(seq, event.seq)
                seq, wait = event.seq, _FIRST_WAIT_SEC
                yield event
        except UnreachableError:
            pass
        except ProblemError as problem:
            if problem.status < 500 and not isinstance(problem, BusyError):
                raise
            pause = min(problem.retry_after_sec or 0.0, _LONGEST_PAUSE_SEC)
        await asyncio.sleep(max(wait, pause or 0.0, min(stream.retry_sec or 0.0, 30.0)))
        wait = min(wait * 2, _LONGEST_WAIT_SEC)


async def _connection(
    transport: Transport, stream: SseParser, seq: int, silence_sec: float
) -> AsyncIterator[EventShape]:
    """The events of one connection, until it ends."""
    # Number 0 stands before the first event; the field must not be left out, or a server
    # begins with what happens next.
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(seq)}
    async with transport.stream(
        "/events/stream", headers=headers, silence_sec=silence_sec
    ) as octets:
        async for chunk in octets:
            for message in stream.feed(chunk):
                yield _event(message)


def _event(message: SseMessage) -> EventShape:
    try:
        return msgspec.json.decode(message.data, type=EventShape)
    except msgspec.DecodeError as problem:
        text = f"the stream says something that is no event: {problem}"
        raise AnswerError(text) from problem
