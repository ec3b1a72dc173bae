"""Publishes events to a stream of Redis or Valkey: entry `<number>-0` is event `<number>`, once and in order.

One script appends a window as a whole. It leaves out what the stream has, and it appends nothing
when the stream has lost events that it had acknowledged: an entry that comes after a hole can never
be followed by the one that is missing, because ids only grow.
"""
# Tested in tests/contracts/bus/

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)

from feedmill.adapters.bus.address import BusAddress
from feedmill.adapters.failpoints import reach
from feedmill.config import BusConfig
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import ConfigError, SinkError
from feedmill.model.event import Event
from feedmill.publish.cloudevents import bus_message

# KEYS: the stream. ARGV: the number that it must have reached, the length to which it is cut (0:
# never), then for each event its number, how many arguments follow, and those.
_APPEND: Final = """
local last = 0
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then
      last = tonumber(string.match(info[at + 1], '^%d+'))
    end
  end
end
if last < tonumber(ARGV[1]) then return -1 - last end
local cut = tonumber(ARGV[2])
local at, added = 3, 0
while at <= #ARGV do
  local seq, count = ARGV[at], tonumber(ARGV[at + 1])
  if tonumber(seq) > last then
    if cut > 0 then
      redis.call('XADD', KEYS[1], 'MAXLEN', '~', cut, seq .. '-0', unpack(ARGV, at + 2, at + 1 + count))
    else
      redis.call('XADD', KEYS[1], seq .. '-0', unpack(ARGV, at + 2, at + 1 + count))
    end
    added = added + 1
  end
  at = at + 2 + count
end
return added
"""
_CLOSE_SEC: Final = 1.0
_LOST: Final = "busy"  # the relay looks again and goes back
_LATE: Final = "too-slow"
_PASSING: Final = {
    "LOADING": "busy",
    "BUSY": "busy",
    "MISCONF": "io-error",
    "READONLY": "read-only",
}


class RedisBus:
    """A stream under one key; the same for Redis and for Valkey."""

    def __init__(self, address: BusAddress, config: BusConfig, source: str) -> None:
        self.name = f"bus:redis:{config.stream}"
        self._address, self._config, self._source = address, config, source
        self._client: Redis | None = None
        self._reached = 0  # the number that the stream had when we last looked or wrote

    async def deliver(self, events: Sequence[Event]) -> None:
        """Append the events that the stream lacks; acknowledged, and by replicas too if wanted."""
        if not events:
            return
        reach("bus-send")
        arguments: list[bytes | str | int] = [self._reached, self._config.max_events]
        for event in events:
            fields = self._fields(event)
            arguments += [event.seq, len(fields), *fields]
        added = await self._asked("EVAL", _APPEND, 1, self._config.stream, *arguments)
        if added < 0:
            message = (
                f"{self._where()} holds events up to {-1 - added} only, and had {self._reached}"
            )
            raise SinkError(_LOST, message)
        reach("bus-sent")
        await self._replicated()
        self._reached = max(self._reached, events[-1].seq)
        reach("bus-taken")

    async def newest(self) -> NewestEvent | None:
        """The end of the stream, as its ids tell it."""
        stream = self._config.stream
        if not await self._asked("EXISTS", stream):
            self._reached = 0
            return NewestEvent(seq=0)
        info = await self._asked("XINFO STREAM", stream)
        self._reached = int(bytes(info["last-generated-id"]).partition(b"-")[0])
        last = info["last-entry"]
        found = None if last is None else last[1].get(b"ce-id")
        return NewestEvent(seq=self._reached, id=None if found is None else found.decode())

    async def close(self) -> None:
        """Leave the server."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SEC):
                    await client.aclose()

    async def _replicated(self) -> None:
        """Wait for the copies that the settings ask for."""
        wanted = self._config.replicas - 1
        if wanted < 1:
            return
        wait_ms = int(self._config.timeout_sec * 500)
        found = await self._asked("WAIT", wanted, wait_ms)
        if found < wanted:
            message = f"{self._where()}: {found} of {wanted} replicas have the events"
            raise SinkError(_LATE, message)

    def _fields(self, event: Event) -> list[bytes | str]:
        config = self._config
        message = bus_message(
            event, self._source, mode=config.content_mode, max_bytes=config.max_event_bytes
        )
        fields: list[bytes | str] = [text for pair in message.headers for text in pair]
        if message.body is not None:
            fields += ["data", message.body]
        return fields

    async def _asked(self, command: str, *arguments: object) -> Any:  # noqa: ANN401  # what it says
        if self._client is None:
            self._client = _client(self._address, self._config)
        try:
            async with asyncio.timeout(self._config.timeout_sec):
                return await self._client.execute_command(command, *arguments)  # type: ignore[no-untyped-call]  # redis is half typed
        except (RedisError, OSError, TimeoutError) as problem:
            await self.close()
            raise self._sink_error(problem) from problem
        except asyncio.CancelledError:
            await self.close()  # an answer is still on its way there
            raise

    def _sink_error(self, problem: Exception) -> SinkError:
        where, words = self._where(), str(problem) or type(problem).__name__
        match problem:
            case AuthenticationError() | AuthorizationError() | NoPermissionError():
                return SinkError("refused", f"{where} denied access: {words}")
            case OutOfMemoryError():
                return SinkError("disk-full", f"{where} has no memory left: {words}")
            case ResponseError():
                reason = next((_PASSING[one] for one in _PASSING if words.startswith(one)), None)
                if reason is None and "OOM" in words:
                    reason = "disk-full"
                return SinkError(reason or "refused", f"{where} refuses events: {words}")
            case _:
                return SinkError("unreachable", f"{where} does not answer: {words}")

    def _where(self) -> str:
        return f"the stream {self._config.stream} at {self._address.shown}"


def _client(address: BusAddress, config: BusConfig) -> Redis:
    if len(address.hosts) != 1 or (address.path and not address.path.isdigit()):
        mistake = "[bus] url of Redis names one host, and after / the number of a database"
        raise ConfigError([mistake])
    host, port = address.hosts[0]
    encrypted: dict[str, Any] = {}
    if address.encrypted:
        encrypted = {"ssl": True, "ssl_ca_certs": config.ca_file}
    return Redis(
        host=host.strip("[]"),
        port=port,
        db=int(address.path or 0),
        username=address.username,
        password=address.password,
        socket_timeout=config.timeout_sec,
        socket_connect_timeout=config.timeout_sec,
        # A command that was sent twice would be seen to be; an error is for the relay to report.
        retry=Retry(NoBackoff(), 0),
        client_name="feedmill",
        protocol=2,
        **encrypted,
    )
