"""The HTTP server of REST, MCP and the health page: uvicorn, and the limits that it lacks.

uvicorn speaks HTTP. Added here: a limit on the time that the head of a request may take (on a
kept-alive connection too), a limit on the time of its body, a maximum number of connections of which no
address takes all by saying nothing, and a way for an application to abort the connection of a client that reads nothing.
"""
# Tested in tests/integration/interfaces/test_http_server.py; its limits in tests/integration/interfaces/rest/

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import IPv4Address, ip_address
from typing import Any, Final, NamedTuple, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from feedmill.config import ServeConfig
from feedmill.engine.run.memory_budget import MemoryShare
from feedmill.errors import UsageError

CLOSE: Final = (b"connection", b"close")
NOT_KEPT: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
# In a scope's extensions:
ABORT: Final = "feedmill.cut"  # ends the connection at once
CROWDED: Final = "feedmill.crowded"  # true when there are too many connections

# A proxy may have believed the other one: what it takes for the body would be the next request here (RFC 9112, 6.1).
_TWO_LENGTHS: Final = {b"content-length", b"transfer-encoding"}
_MAX_HEAD_BYTES: Final = 32_768
_BACKLOG: Final = 512


class BadRequestAnswer(NamedTuple):
    """The answer to something that is not HTTP."""

    media_type: str
    body: bytes


def listen(host: str, port: int, hint: str = "choose another") -> socket.socket:
    """A bound socket; UsageError, which ends with the hint, when the address cannot be had."""
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        listening = socket.create_server((bare, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        # Python adds the address a second time: "… (while attempting to bind on …)".
        words = (problem.strerror or str(problem)).partition(" (while")[0]
        message = f"cannot listen on {host} port {port} ({words}); {hint}"
        raise UsageError(message) from problem
    # asyncio does this only for sockets whose protocol is named; without it every answer in two
    # pieces waits 40 ms for an acknowledgement. Accepted connections inherit it.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@asynccontextmanager
async def http_server(
    app: Any,  # noqa: ANN401  # ASGI's own type
    listening: socket.socket,
    limits: ServeConfig,
    *,
    drain_sec: float,
    bad_request: BadRequestAnswer,
) -> AsyncIterator[str]:
    """Serve an ASGI application while the block runs; its base URL.

    At the end of the block requests under way get `drain_sec`; streams have to end by themselves.
    """
    server = _Server(_uvicorn_config(app, limits, drain_sec, bad_request))
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listening]))
        try:
            yield _base_url(listening)
        finally:
            server.should_exit = True
            await asyncio.wait({serving})


async def send_whole(
    send: Any,  # noqa: ANN401  # ASGI's own type
    status: int,
    media_type: str,
    body: bytes,
    *more: tuple[bytes, bytes],
) -> None:
    """Send an answer that is complete at once, with further headers."""
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_in_time(scope: Any, sending: Awaitable[None], limit_sec: float) -> None:  # noqa: ANN401
    """Finish an answer; abort the connection of a client that does not read it within the limit."""
    try:
        async with asyncio.timeout(limit_sec):
            await sending
    except TimeoutError:
        abort_connection(scope)


def abort_connection(scope: Any) -> None:  # noqa: ANN401  # ASGI's own type
    """Close the connection of a request at once; nothing happens under another server."""
    abort = scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort()


def is_crowded(scope: Any) -> bool:  # noqa: ANN401  # ASGI's own type
    """True when more connections are open than the settings allow."""
    return bool(scope.get("extensions", {}).get(CROWDED))


class TimedBody:
    """The body of a request, with one deadline for the whole of it.

    A large one waits for `room` as it grows; that time does not count.
    """

    def __init__(
        self,
        receive: Any,  # noqa: ANN401  # ASGI's own type
        limit_sec: float,
        room: MemoryShare | None = None,
    ) -> None:
        self._receive, self._room = receive, room
        self._loop = asyncio.get_running_loop()
        self._deadline, self._octets = self._loop.time() + limit_sec, 0
        self._is_complete = False

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece; TimeoutError when the body does not arrive in time."""
        if self._is_complete:
            return await self._receive()  # only waits for the client to disconnect
        async with asyncio.timeout_at(self._deadline):
            message = await self._receive()
        self._is_complete = not message.get("more_body", False)
        if self._room is not None:
            self._octets += len(message.get("body", b""))
            began = self._loop.time()
            await self._room.wait_to_grow(self._octets)
            self._deadline += self._loop.time() - began
        return message


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to the caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _JoiningTransport:
    """A transport that sends the head of an answer together with what follows at once: one packet, one call.

    A stream may have nothing to say for long: its head goes alone.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._head = transport, b""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # everything else is the transport's own
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Keep a final head back; send everything else, with the head in front."""
        head, self._head = self._head, b""
        if not head and data.startswith(b"HTTP/1.1 ") and data[9:10] != b"1":
            self._head = data
            asyncio.get_running_loop().call_soon(self._send_head)
        elif head and data:
            # No piece is empty: with one, asyncio since Python 3.12 takes the rest for unsent, tries for ever, and never closes.
            self._transport.writelines((head, data))
        else:
            self._transport.write(head or data)

    def close(self) -> None:
        """Close the connection after everything written has been sent."""
        self._send_head()
        self._transport.close()

    def _send_head(self) -> None:
        if self._head:
            self.write(b"")


class _Waiting:
    """Connections without a request, by the address that they come from, the oldest first."""

    def __init__(self) -> None:
        self._by_address: dict[str, dict[_Connection, None]] = {}

    def add(self, one: "_Connection") -> None:
        """Note that the connection has no request under way."""
        self._by_address.setdefault(one.address, {})[one] = None

    def remove(self, one: "_Connection") -> None:
        """Note that the head of a request is complete, or that the connection is gone."""
        found = self._by_address.get(one.address, {})
        found.pop(one, None)
        if not found:
            self._by_address.pop(one.address, None)

    def make_room(self) -> None:
        """Close the oldest connection of the address that has most of them.

        Behind a reverse proxy all of them are the proxy's: it opens another one when it needs it.
        """
        found = max(self._by_address.values(), key=len, default={})
        oldest = next(iter(found), None)
        if oldest is not None:
            self.remove(oldest)
            oldest.transport.abort()


class _Connection(H11Protocol):
    """A connection that is aborted when the head of any of its requests takes too long."""

    head_timeout_sec = 10.0
    max_connections = 1_000
    waiting = _Waiting()
    address = ""
    bad_request = BadRequestAnswer("text/plain", b"bad request\n")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(cast("asyncio.Transport", _JoiningTransport(transport)))
        inner = self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  # ASGI's own types
            if {name for name, _ in scope["headers"]} >= _TWO_LENGTHS:
                await send_whole(send, 400, *self.bad_request, CLOSE)
                return
            crowded = len(self.connections) > self.max_connections
            scope["extensions"] = {ABORT: transport.abort, CROWDED: crowded}
            await inner(scope, receive, send)

        self.app = app
        self.address = _address_of(transport)
        if len(self.connections) > self.max_connections:
            self.waiting.make_room()
        self.waiting.add(self)
        self._head = self.loop.call_later(self.head_timeout_sec, self._too_slow)

    def data_received(self, data: bytes) -> None:
        before: object = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head.cancel()
            if not self.cycle.response_complete:
                self.waiting.remove(self)
        elif self._head.cancelled() and self.cycle.response_complete:
            # The first piece of the next request: uvicorn has just ended its keep-alive limit.
            self._head = self.loop.call_later(self.head_timeout_sec, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.cancel()
        self.waiting.remove(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.waiting.add(self)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # of the protocol
        """Answer what is not HTTP in the application's own format, and close."""
        headers = [
            (b"content-type", self.bad_request.media_type.encode()),
            (b"content-length", str(len(self.bad_request.body)).encode()),
            CLOSE,
        ]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=self.bad_request.body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _too_slow(self) -> None:
        self._head.cancel()
        self.transport.abort()


def _uvicorn_config(
    app: Any,  # noqa: ANN401  # ASGI's own type
    limits: ServeConfig,
    drain_sec: float,
    bad_request: BadRequestAnswer,
) -> uvicorn.Config:
    own = {
        "head_timeout_sec": limits.header_timeout_sec,
        "max_connections": limits.max_connections,
        "bad_request": bad_request,
        "waiting": _Waiting(),
    }
    for name in ("uvicorn.error", "uvicorn.access"):  # the applications log requests themselves
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    return uvicorn.Config(
        app,
        http=type("_Connection", (_Connection,), own),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(limits.keep_alive_sec),
        timeout_graceful_shutdown=int(drain_sec),
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
    )


def _address_of(transport: asyncio.Transport) -> str:
    """Where a connection comes from; of IPv6 the network, because one machine has all of its addresses."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return ""
    address = ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or address.exploded[:19])


def _base_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
