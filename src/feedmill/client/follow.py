"""Follows the event log: each event once and in order, reconnecting as often as needed."""
# Tested in tests/integration/client/

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import msgspec

from feedmill.client.sse import SseMessage, SseParser
from feedmill.client.transport import Transport
from feedmill.errors import AnswerError, BusyError, GapError, ProblemError, UnreachableError
from feedmill.publish.shapes import EventShape

SILENCE_SEC: Final = 60.0  # heartbeats come far more often
_FIRST_WAIT_SEC: Final = 0.25
_LONGEST_WAIT_SEC: Final = 30.0
_LONGEST_PAUSE_SEC: Final = 3_600.0  # that a server may ask for


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
