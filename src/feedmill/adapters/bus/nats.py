"""Events on a stream of NATS JetStream: each once, all in the order of their numbers.

`Nats-Msg-Id` is the id of the event, so the server drops what it has seen within its window of
duplicates. Every message also names the id that has to stand before it
(`Nats-Expected-Last-Msg-Id`): one that was refused in the middle of a window takes those behind
it along, and what comes again after the window of duplicates is refused too.

A connection is never mended by the client: it would send what was written meanwhile before what was
lost. It is dropped, and the next delivery begins with a new one.
"""

import asyncio
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

import msgspec
from nats.errors import AuthorizationError, Error, NoServersError
from nats.js.errors import APIError

from feedmill.adapters.bus.address import BusAddress
from feedmill.adapters.bus.nats_session import MessageRefusedError, NatsSession
from feedmill.adapters.failpoints import reach
from feedmill.config import BusConfig
from feedmill.engine.ports.events import NewestEvent
from feedmill.errors import ConfigError, SinkError
from feedmill.model.event import Event
from feedmill.publish.bus_messages import bus_message, encode_header_value, subject_of

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_WRONG_LAST: Final = 10070
_FULL: Final = frozenset({10023, 10047, 10077})  # no resources, no room, the most bytes reached


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
            raise _told(problem, self._address) from problem
        reach("bus-taken")

    async def newest(self) -> NewestEvent | None:
        """The last message of the stream; None when all were let go, and nobody knows any more."""
        await self._drop()
        return (await self._opened()).newest

    async def close(self) -> None:
        """Leave the server."""
        await self._drop()

    async def _opened(self) -> NatsSession:
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
                raise _told(about or problem, self._address) from problem
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
        headers = {name: encode_header_value(value) for name, value in message.headers}
        headers["Nats-Msg-Id"] = headers["ce-id"]
        headers["Nats-Expected-Stream"] = config.stream
        return subject_of(event, self._root), message.body or b"", headers


_FAULTS: Final = (Error, OSError, TimeoutError, EOFError, msgspec.DecodeError, MessageRefusedError)


def _told(problem: BaseException, address: BusAddress) -> SinkError:
    """The problem with its stable reason."""
    where = f"NATS at {address.shown}"
    match problem:
        case AuthorizationError():
            return SinkError("refused", f"{where} does not let us in: {problem}")
        case MessageRefusedError(code=code) if code == _WRONG_LAST:
            return SinkError("busy", f"{where}: somebody else writes to the stream ({problem})")
        case MessageRefusedError(code=code) if code in _FULL:
            return SinkError("disk-full", f"{where} has no room: {problem}")
        case MessageRefusedError():
            return SinkError("refused", f"{where} refuses an event: {problem}")
        case APIError(err_code=code) if code in _FULL:
            return SinkError("disk-full", f"{where} has no room: {problem}")
        case APIError(code=code) if code is not None and code < 500:
            return SinkError("refused", f"{where} refuses the stream: {problem.description}")
        case Error() if "authorization" in str(problem).lower():
            return SinkError("refused", f"{where} does not let us in")
        case _:
            words = str(problem) or type(problem).__name__
            return SinkError("unreachable", f"{where} does not answer: {words}")
