"""One connection to NATS: the stream, its end, and the acknowledgements of what is sent to it."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError

from feedmill.adapters.bus.address import BusAddress
from feedmill.adapters.failpoints import reach
from feedmill.config import BusConfig
from feedmill.engine.ports.events import NewestEvent
from feedmill.model.event import Event

_PENDING_BYTES: Final = 64 * 1024 * 1024  # what the client may hold before it has to be written
_CLOSE_SEC: Final = 1.0
_DAY_SEC: Final = 86_400.0


class _Answer(msgspec.Struct):
    """What the server says to a message, of which only a fault matters."""

    error: dict[str, Any] | None = None


class MessageRefusedError(Exception):
    """The server did not store a message."""

    def __init__(self, code: int, description: str) -> None:
        self.code = code
        super().__init__(description)


class NatsSession:
    """One connection, and what is known about the end of the stream."""

    def __init__(self, address: BusAddress, config: BusConfig) -> None:
        self._address, self._config = address, config
        self._client = Client()
        self._inbox = ""
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._count = 0
        self._end: tuple[int, str] | None = None  # number and id of the last message
        self.newest: NewestEvent | None = None
        self.noticed: Exception | None = None  # the last thing that the client complained of

    async def open(self) -> None:
        """Connect, make the stream if it is missing, and look at its end."""
        config, address = self._config, self._address
        scheme = "tls" if address.encrypted else "nats"
        who: dict[str, Any] = {}
        if address.password is not None:
            who = {"user": address.username, "password": address.password}
        elif address.username is not None:
            who = {"token": address.username}
        if config.creds_file is not None:
            who["user_credentials"] = config.creds_file
        if config.ca_file is not None:
            who["tls"] = ssl.create_default_context(cafile=config.ca_file)
        await self._client.connect(
            [f"{scheme}://{host}:{port}" for host, port in address.hosts],
            name="feedmill",
            allow_reconnect=False,
            # Whom nobody answers is told at once; asking again later is the relay's business.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=max(1, round(config.timeout_sec)),
            pending_size=_PENDING_BYTES,
            error_cb=self._on_error,
            disconnected_cb=self._on_end,
            closed_cb=self._on_end,
            **who,
        )
        await self._look()
        self._inbox = self._client.new_inbox()
        await self._client.subscribe(f"{self._inbox}.*", cb=self._on_answer)

    def without_known(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events behind the last message, when that is one of them: the others are stored."""
        for at, event in enumerate(events):
            if self._end == (event.seq, event.id):
                return events[at + 1 :]
        return events

    async def publish(
        self, messages: Sequence[tuple[str, bytes, dict[str, str]]], events: Sequence[Event]
    ) -> None:
        """Send all of them, then wait for every answer; the first fault is raised."""
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[None]] = []
        end = self._end
        for event, (subject, body, headers) in zip(events, messages, strict=True):
            if end is not None and end[0] == event.seq - 1:
                headers["Nats-Expected-Last-Msg-Id"] = end[1]
            end = event.seq, headers["Nats-Msg-Id"]
            self._count += 1
            reply = f"{self._inbox}.{self._count}"
            answers.append(loop.create_future())
            self._waiting[reply] = answers[-1]
            await self._client.publish(subject, body, reply=reply, headers=headers)
        reach("bus-sent")
        try:
            await asyncio.gather(*answers)
        finally:
            for answer in answers:
                answer.cancel()
        self._end = end

    async def close(self) -> None:
        """End the connection; what is not answered will not be."""
        self._fail(ConnectionError("the connection was given up"))
        with suppress(Exception):  # a connection that is broken cannot be ended well either
            async with asyncio.timeout(_CLOSE_SEC):
                await self._client.close()

    async def _look(self) -> None:
        config = self._config
        stream = self._client.jetstream(timeout=config.timeout_sec)
        try:
            info = await stream.stream_info(config.stream)
        except NotFoundError:
            info = await stream.add_stream(_made(config))
        if info.state.messages:
            last = await stream.get_msg(config.stream, info.state.last_seq)
            headers = last.headers or {}
            seq, event_id = headers.get("ce-sequence", ""), headers.get("Nats-Msg-Id")
            if seq.isdigit() and event_id:
                self._end = int(seq), event_id
                self.newest = NewestEvent(seq=int(seq), id=event_id)
        elif not info.state.last_seq:
            self.newest = NewestEvent(seq=0)

    async def _on_answer(self, message: Msg) -> None:
        answer = self._waiting.pop(message.subject, None)
        if answer is None or answer.done():
            return
        if message.headers and message.headers.get("Status"):
            answer.set_exception(NoRespondersError())
            return
        fault = msgspec.json.decode(message.data, type=_Answer).error
        if fault is None:
            answer.set_result(None)
        else:
            code = int(fault.get("err_code", 0))
            answer.set_exception(MessageRefusedError(code, str(fault.get("description"))))

    async def _on_error(self, problem: Exception) -> None:
        """Kept for the words of a failure; all else shows in an answer or in its absence."""
        self.noticed = problem

    async def _on_end(self) -> None:
        self._fail(ConnectionError("the connection has ended"))

    def _fail(self, problem: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(problem)
                answer.exception()  # looked at: nobody may be waiting for this one any more


def _made(config: BusConfig) -> StreamConfig:
    max_age_sec = config.max_age_days * _DAY_SEC
    window_sec = config.duplicate_window_sec
    return StreamConfig(
        name=config.stream,
        subjects=[f"{config.stream}.events.>"],
        num_replicas=config.replicas,
        max_age=max_age_sec,
        duplicate_window=min(window_sec, max_age_sec) if max_age_sec else window_sec,
        allow_direct=True,
    )
