"""Checks before every MCP request over HTTP: host, origin, rate limit and token (D30)."""

import asyncio
import math
from typing import Any, Final

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, is_loopback
from feedmill.errors import CrowdedError
from feedmill.interfaces import request_auth
from feedmill.interfaces.http_server import CLOSE, TimedBody, is_crowded, send_whole
from feedmill.interfaces.mcp.tool import CALLER
from feedmill.model.running.webhook import Caller

JSON: Final = "application/json"


class McpAuth:
    """An ASGI application around that of the MCP transport."""

    def __init__(self, app: Any, services: Services, host: str) -> None:  # noqa: ANN401  # ASGI's own type
        self._app, self._services = app, services
        self._is_local = is_loopback(host)
        self._limiter = RateLimiter(services.config.access, services.clock)
        self._stopping = asyncio.Event()

    def stop_streams(self) -> None:
        """End the streams of idle sessions; calls under way go on."""
        self._stopping.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Pass the request on with its caller, or refuse it with an error code."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        known = self._services.config.serve.hosts
        if is_crowded(scope):
            await _refuse(send, 503, "too-many-connections")
        elif not request_auth.is_allowed_host(
            headers.get(b"host", ""), known, is_local=self._is_local
        ):
            await _refuse(send, 421, "bad-host")
        elif request_auth.is_cross_origin(headers):
            await _refuse(send, 403, "cross-origin")
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        caller = await self._caller(scope)
        try:
            request_auth.check_rate(self._limiter, caller, (scope.get("client") or ("",))[0])
        except CrowdedError as problem:
            wait = str(math.ceil(problem.retry_after_sec or 0)).encode()
            await _refuse(send, 429, problem.reason, (b"retry-after", wait))
            return
        if caller is None:
            await _refuse(send, 401, "unauthenticated", (b"www-authenticate", b"Bearer"))
            return
        body = _Body(receive, self._services.config.serve.body_timeout_sec)
        idle = _IdleStream(body.receive, self._stopping)
        receive = idle.receive if scope["method"] == "GET" else body.receive
        await self._app({**scope, CALLER: caller}, receive, send)

    async def _caller(self, scope: Any) -> Caller | None:  # noqa: ANN401  # ASGI's own type
        given = [
            value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"
        ]
        return await request_auth.identify_caller(
            request_auth.bearer_token(given), self._services, is_local=self._is_local
        )


class _Body(TimedBody):
    """The body of a request; a client that stops half-way counts as disconnected."""

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        try:
            return await super().receive()
        except TimeoutError:
            return {"type": "http.disconnect"}


class _IdleStream:
    """A stream without a call under way: once the server stops, the client counts as disconnected."""

    def __init__(self, receive: Any, stopping: asyncio.Event) -> None:  # noqa: ANN401  # ASGI's own type
        self._receive, self._stopping = receive, stopping

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece."""
        coming = asyncio.ensure_future(self._receive())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else {"type": "http.disconnect"}
        finally:
            coming.cancel()
            stopping.cancel()


def error_body(code: str) -> bytes:
    """The JSON of a refusal."""
    return f'{{"error":{{"code":"{code}"}}}}'.encode()


async def _refuse(
    send: Any,  # noqa: ANN401  # ASGI's own type
    status: int,
    code: str,
    *more: tuple[bytes, bytes],
) -> None:
    await send_whole(send, status, JSON, error_body(code), CLOSE, *more)
