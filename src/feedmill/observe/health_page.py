"""A small page for whoever runs feedmill: /metrics, /livez, /readyz and nothing else.

No token is asked for, so it listens on loopback unless it is told otherwise, and it says nothing of
feeds: numbers, and why a process is not ready.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import NamedTuple, Protocol

from feedmill.errors import UsageError
from feedmill.observe.metrics import Metrics

METRICS_TYPE = "text/plain; version=0.0.4"
_PATIENCE_SEC = 5.0
_MOST_HEAD_BYTES = 16_384


class PageResponse(NamedTuple):
    """What is answered at a path."""

    status: HTTPStatus
    kind: str
    body: bytes


Route = Callable[[], Awaitable[PageResponse]]


class Stoppable(Protocol):
    """Whoever can be asked whether it is over."""

    def is_stopping(self) -> bool: ...
    async def sleep_unless_stopping(self, seconds: float) -> None: ...


async def serve_metrics(metrics: Metrics, port: int, watch: Stoppable) -> None:
    """Answer GET /metrics and /healthz on loopback until the run ends."""
    async with serve_health_page(
        {"/metrics": metrics_route(metrics), "/healthz": alive_route}, "127.0.0.1", port
    ):
        while not watch.is_stopping():
            await watch.sleep_unless_stopping(3600)


@asynccontextmanager
async def serve_health_page(
    routes: Mapping[str, Route], host: str, port: int
) -> AsyncIterator[int]:
    """Answer at these paths while the block runs; the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(
            TimeoutError,
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            async with asyncio.timeout(_PATIENCE_SEC):
                head = await reader.readuntil(b"\r\n\r\n")
            shown = await _shown(head, routes)
            async with asyncio.timeout(_PATIENCE_SEC):
                writer.write(_written(shown))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, host, port, limit=_MOST_HEAD_BYTES)
    except OSError as problem:
        # asyncio wraps what the machine says in words of its own.
        words = str(problem.strerror or problem).rpartition("): ")[2]
        message = (
            f"{', '.join(routes)} cannot be served at {host} on port {port} ({words}); choose another, "
            "with FEEDMILL_HEALTH_PORT or --metrics-port"
        )
        raise UsageError(message) from problem
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()  # and wait for nobody: a probe that hangs must not hold up the end


def metrics_route(metrics: Metrics) -> Route:
    """The route of /metrics."""

    async def show() -> PageResponse:
        return PageResponse(HTTPStatus.OK, METRICS_TYPE, metrics.page())

    return show


async def alive_route() -> PageResponse:
    """The process answers."""
    return PageResponse(HTTPStatus.OK, "text/plain", b"ok\n")


async def _shown(head: bytes, routes: Mapping[str, Route]) -> PageResponse:
    words = head.split(b" ", 2)
    path = words[1].split(b"?")[0].decode("latin-1") if len(words) > 2 else ""
    route = routes.get(path)
    if route is None:
        others = f"try {', '.join(routes)}\n".encode()
        return PageResponse(HTTPStatus.NOT_FOUND, "text/plain", others)
    return await route()


def _written(shown: PageResponse) -> bytes:
    head = (
        f"HTTP/1.1 {shown.status.value} {shown.status.phrase}",
        f"Content-Type: {shown.kind}",
        f"Content-Length: {len(shown.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + shown.body
