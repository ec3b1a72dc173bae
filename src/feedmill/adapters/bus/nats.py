"""Publishes events to a NATS JetStream stream: each once, all in the order of their numbers.

`Nats-Msg-Id` is the id of the event, so the server drops what it has seen within its window of
duplicates. Every message also names the id that has to stand before it
(`Nats-Expected-Last-Msg-Id`): one that was refused in the middle of a window takes those behind
it along, and what comes again after the window of duplicates is refused too.

A connection is never mended by the client: it would send what was written meanwhile before what was
lost. It is dropped, and the next delivery begins with a new one.
"""
# Tested in tests/contracts/bus/

import asyncio
import re
import ssl
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import AuthorizationError, Error, NoRespondersError, NoServersError
from nats.js.api import StreamConfig
from nats.js.errors import APIError, NotFoundError

from feedmill.adapters.bus.address import BusAddress
from feedmill.adapters.failpoints import reach
from feedmill.config import BusConfig
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import ConfigError, SinkError
from feedmill.model.event import Event
from feedmill.publish.cloudevents import bus_message, encode_header_value, subject_of

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_WRONG_LAST: Final = 10070
# No resources, no storage, the maximum of bytes reached.
_FULL: Final = frozenset({10023, 10047, 10077})
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


_FAULTS: Final = (Error, OSError, TimeoutError, EOFError, msgspec.DecodeError, MessageRefusedError)


class NatsBus:
    """A stream; it is made when it is missing, and otherwise left as it is."""

    def __init__(self, address: BusAddress, config: BusConfig, source: str) -> None:
        if not _NAME.fullmatch(config.stream):
            mistake = "[bus] stream: a stream of NATS is named by letters, digits, - and _"
            raise ConfigError([mistake])
        if config.creds_file is not None and find_spec("nkeys") is None:
            mistake = "[bus] creds_file: signing with it needs one more package; pip install nkeys"
            raise ConfigError([mistake])
        self.name = f"bus:nats:{config.stream}"
        self._address, self._config, self._source = address, config, source
        self._root = f"{config.stream}.events"
        self._session: NatsSession | None = None

    async def deliver(self, events: Sequence[Event]) -> None:
        """Publish the events; stored by the server, all of them, when this returns."""
        if not events:
            return
        reach("bus-send")
        session = await self._opened()
        try:
            async with asyncio.timeout(self._config.timeout_sec):
                fresh = session.without_known(events)
                await session.publish([self._message(event) for event in fresh], fresh)
        except (*_FAULTS, asyncio.CancelledError) as problem:
            # What is on its way may still arrive: only a new connection begins in a known state.
            await self._drop()
            if isinstance(problem, asyncio.CancelledError):
                raise
            raise _sink_error(problem, self._address) from problem
        reach("bus-taken")

    async def newest(self) -> NewestEvent | None:
        """The last message of the stream; None when all were deleted, and it is unknown."""
        await self._drop()
        return (await self._opened()).newest

    async def close(self) -> None:
        """Leave the server."""
        await self._drop()

    async def _opened(self) -> "NatsSession":
        if self._session is None:
            session = NatsSession(self._address, self._config)
            try:
                async with asyncio.timeout(self._config.timeout_sec):
                    await session.open()
            except (*_FAULTS, asyncio.CancelledError) as problem:
                await session.close()
                if isinstance(problem, asyncio.CancelledError):
                    raise
                # That there is no server left says less than what was said of the last of them.
                about = session.noticed if isinstance(problem, NoServersError) else None
                raise _sink_error(about or problem, self._address) from problem
            self._session = session
        return self._session

    async def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _message(self, event: Event) -> tuple[str, bytes, dict[str, str]]:
        config = self._config
        message = bus_message(
            event, self._source, mode=config.content_mode, max_bytes=config.max_event_bytes
        )
        # Only attributes are percent-encoded (3.1.3.2); a media type stays one (3.1.1).
        headers = {
            name: value if name == "content-type" else encode_header_value(value)
            for name, value in message.headers
        }
        headers["Nats-Msg-Id"] = headers["ce-id"]
        headers["Nats-Expected-Stream"] = config.stream
        return subject_of(event, self._root), message.body or b"", headers


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
            # Without an answer it fails at once; retrying later is the task of the relay.
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
            info = await stream.add_stream(_stream_config(config))
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
                answer.exception()  # retrieved: perhaps no task waits for this one any more


def _sink_error(problem: BaseException, address: BusAddress) -> SinkError:
    """The problem with its stable reason."""
    where = f"NATS at {address.shown}"
    match problem:
        case AuthorizationError():
            return SinkError("refused", f"{where} denied access: {problem}")
        case MessageRefusedError(code=code) if code == _WRONG_LAST:
            return SinkError("busy", f"{where}: another client writes to the stream ({problem})")
        case MessageRefusedError(code=code) if code in _FULL:
            return SinkError("disk-full", f"{where} is full: {problem}")
        case MessageRefusedError():
            return SinkError("refused", f"{where} refuses an event: {problem}")
        case APIError(err_code=code) if code in _FULL:
            return SinkError("disk-full", f"{where} is full: {problem}")
        case APIError(code=code) if code is not None and code < 500:
            return SinkError("refused", f"{where} refuses the stream: {problem.description}")
        case Error() if "authorization" in str(problem).lower():
            return SinkError("refused", f"{where} denied access")
        case _:
            words = str(problem) or type(problem).__name__
            return SinkError("unreachable", f"{where} does not answer: {words}")


def _stream_config(config: BusConfig) -> StreamConfig:
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
