"""The health page of a role: /metrics, /livez, /readyz, /healthz and nothing else.

It asks for no token, so it listens on loopback by default, and it shows nothing of feeds: numbers,
and why a process is not ready.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec

from feedmill.config import ServeConfig
from feedmill.engine.run.readiness import Liveness
from feedmill.interfaces.http_server import (
    CLOSE,
    NOT_KEPT,
    BadRequestAnswer,
    http_server,
    listen,
    send_in_time,
    send_whole,
)
from feedmill.model.running.worker import Readiness
from feedmill.observe.metrics import Metrics

_LIMITS: Final = ServeConfig(header_timeout_sec=5.0, send_timeout_sec=5.0)
_TEXT: Final = "text/plain"


class PageResponse(NamedTuple):
    """The answer at a path."""

    status: HTTPStatus
    kind: str
    body: bytes


Route = Callable[[str], Awaitable[PageResponse]]  # what the client accepts goes in


@asynccontextmanager
async def serve_health_page(
    routes: Mapping[str, Route], host: str, port: int
) -> AsyncIterator[int]:
    """Answer at these paths while the block runs; the port."""
    other = (
        f"choose another port for {', '.join(routes)}, with FEEDMILL_HEALTH_PORT or --metrics-port"
    )
    serving = http_server(
        _HealthPage(routes),
        listen(host, port, other),
        _LIMITS,
        drain_sec=0,  # a probe that hangs must not delay the end
        bad_request=BadRequestAnswer(_TEXT, b"bad request\n"),
    )
    async with serving as address:
        yield int(address.rpartition(":")[2])


def metrics_route(metrics: Metrics) -> Route:
    """The route of /metrics."""

    async def show(accept: str) -> PageResponse:
        body, kind = metrics.page_for(accept)
        return PageResponse(HTTPStatus.OK, kind, body)

    return show


async def alive_route(_: str = "") -> PageResponse:
    """The process answers."""
    return PageResponse(HTTPStatus.OK, _TEXT, b"ok\n")


def role_routes(
    metrics: Metrics, liveness: Liveness, check: Callable[[], Awaitable[Readiness]]
) -> dict[str, Route]:
    """The routes of a long-running role."""

    async def livez(_: str) -> PageResponse:
        if liveness.is_alive():
            return await alive_route()
        return PageResponse(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"stalled\n")

    async def readyz(_: str) -> PageResponse:
        found = await check()
        status = HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return PageResponse(status, "application/json", msgspec.json.encode(found))

    return {
        "/livez": livez,
        "/readyz": readyz,
        "/metrics": metrics_route(metrics),
        "/healthz": alive_route,
    }


class _HealthPage:
    """An ASGI application that looks a path up and closes the connection after its answer."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:  # noqa: ANN401  # ASGI's own types
        status, kind, body = await self._answer(scope["path"], _accepted(scope["headers"]))
        sending = send_whole(send, status.value, kind, body, *NOT_KEPT, CLOSE)
        await send_in_time(scope, sending, _LIMITS.send_timeout_sec)

    async def _answer(self, path: str, accept: str) -> PageResponse:
        route = self._routes.get(path)
        if route is None:
            others = f"try {', '.join(self._routes)}\n".encode()
            return PageResponse(HTTPStatus.NOT_FOUND, _TEXT, others)
        return await route(accept)


def _accepted(headers: Iterable[tuple[bytes, bytes]]) -> str:
    return ",".join(value.decode("latin-1") for name, value in headers if name == b"accept")
