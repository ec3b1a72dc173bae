"""Listening: a socket, the server on it, and its end.

uvicorn speaks HTTP; what it leaves out is added here: a limit on the time that a request's head may
take, and a way to end a connection whose reader has gone silent.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from feedmill.config import ServeConfig
from feedmill.engine.deliver.log_notifier import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.errors import UsageError
from feedmill.interfaces.rest.app import make_app, open_app_state
from feedmill.interfaces.rest.middleware import ABORT, CROWDED
from feedmill.interfaces.rest.problems import MEDIA_TYPE, problem_bytes
from feedmill.observe.metrics import Metrics

_MOST_HEADER_BYTES = 32_768


@asynccontextmanager
async def rest_server(
    services: Services,
    watch: Lifecycle,
    *,
    host: str | None = None,
    port: int | None = None,
    metrics: Metrics | None = None,
    bell: LogNotifier | None = None,
) -> AsyncIterator[str]:
    """Serve while the block runs; its base address. Whoever is answered at the end is answered.

    UsageError when the address is open to others and no token was made (D30), or when it cannot
    be had. The watch has to be stopping by the end of the block: streams end with it.
    """
    config = services.config.serve
    name = config.host if host is None else host
    await check_binding(name, services.store, services.clock)
    listening = _listen(name, config.port if port is None else port)
    own_bell = bell or LogNotifier(services.store, watch, every_sec=config.look_ms / 1000)
    doorway = open_app_state(services, watch, own_bell, metrics=metrics, host=name)
    server = _Server(_uvicorn_config(make_app(doorway), config, services.config.run.drain_sec))
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listening]))
        if bell is None:
            group.create_task(own_bell.run())
        try:
            yield _address(listening)
        finally:
            watch.stop()
            server.should_exit = True
            await asyncio.wait({serving})


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Joined:
    """A transport that sends the head of an answer with what follows it: one packet, one call.

    Whoever writes a head always writes once more, if only the end of an empty body.
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
        elif head:
            self._transport.writelines((head, data))
        else:
            self._transport.write(data)

    def close(self) -> None:
        """End the connection after what was written."""
        self.write(b"")
        self._transport.close()


class _Connection(H11Protocol):
    """A connection that is ended when the head of a request takes too long, or when it is cut."""

    head_timeout_sec = 10.0
    most = 1_000

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(cast("asyncio.Transport", _Joined(transport)))
        inner = self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  # ASGI's own types
            is_crowded = len(self.connections) > self.most
            scope["extensions"] = {ABORT: transport.abort, CROWDED: is_crowded}
            await inner(scope, receive, send)

        self.app = app
        self._head = self.loop.call_later(self.head_timeout_sec, self._too_slow)

    def data_received(self, data: bytes) -> None:
        before: object = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head.cancel()
        elif self._head.cancelled() and self.cycle.response_complete:
            self._head = self.loop.call_later(self.head_timeout_sec, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # of the protocol
        """What is no HTTP is answered like everything else, and then left."""
        body = problem_bytes("bad-request", "this is no HTTP request")
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _too_slow(self) -> None:
        self._head.cancel()
        self.transport.abort()


def _uvicorn_config(app: Any, config: ServeConfig, drain_sec: float) -> uvicorn.Config:  # noqa: ANN401
    limits = {"head_timeout_sec": config.header_timeout_sec, "most": config.max_connections}
    for name in ("uvicorn.error", "uvicorn.access"):  # what it would say is said by the shell
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    return uvicorn.Config(
        app,
        http=type("_Connection", (_Connection,), limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(config.keep_alive_sec),
        timeout_graceful_shutdown=max(1, int(drain_sec)),
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
    )


def _listen(host: str, port: int) -> socket.socket:
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        return socket.create_server((bare, port), family=family, backlog=512)
    except OSError as problem:
        # Python adds the address a second time: "… (while attempting to bind on …)".
        words = (problem.strerror or str(problem)).partition(" (while")[0]
        message = f"nothing can listen at {host} on port {port} ({words}); choose another"
        raise UsageError(message) from problem


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
