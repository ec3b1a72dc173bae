"""Before every HTTP request: whom it is meant for, which page sent it, and who is asking (D30).

A request that names another host, or that a page of another origin sends, is refused: a browser
must not be used against a server on its own machine. On loopback, as long as no token was ever
made, everybody on the machine may do everything; the first token closes that.
"""

import asyncio
import re
from typing import Any, Final

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, authenticate, is_loopback
from feedmill.interfaces.mcp.patience import Standing, TimedBody
from feedmill.interfaces.mcp.state import CALLER
from feedmill.model.token import Caller

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\s]+)(?::[0-9]{1,5})?")
_NEIGHBOUR: Final = Caller(
    token_id="loopback",  # noqa: S106  # a name, no secret
    name="loopback",
    scopes=("admin",),
)
_SCHEME: Final = "bearer"


class McpAuth:
    """An ASGI application around the transport's own."""

    def __init__(self, app: Any, services: Services, host: str) -> None:  # noqa: ANN401  # ASGI's own type
        self._app, self._world = app, services
        self._is_local = is_loopback(host)
        self._limiter = RateLimiter(services.config.access, services.clock)
        self._leaving = asyncio.Event()

    def stop_streams(self) -> None:
        """End the streams on which sessions only wait; calls under way go on."""
        self._leaving.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Hand the request on with its caller, or refuse it with a word."""
        fields = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        headers = dict(fields)
        host = headers.get(b"host", "")
        if not self._is_ours(host):
            await _refuse(send, 421, "bad-host")
            return
        origin = headers.get(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            await _refuse(send, 403, "cross-origin")
            return
        caller = await self._caller(fields)
        client = scope.get("client") or ("",)
        wait = self._limiter.admit(caller.token_id if caller else f"unknown {client[0]}")
        if wait > 0:
            await _refuse(send, 429, "rate-limited", (b"retry-after", str(int(wait) + 1).encode()))
        elif caller is None:
            await _refuse(send, 401, "unauthenticated", (b"www-authenticate", b"Bearer"))
        else:
            body = TimedBody(receive, self._world.config.serve.body_timeout_sec)
            standing = Standing(body.receive, self._leaving)
            receive = standing.receive if scope["method"] == "GET" else body.receive
            await self._app({**scope, CALLER: caller}, receive, send)

    def _is_ours(self, host: str) -> bool:
        known = self._world.config.serve.hosts
        if not self._is_local and not known:
            return True  # a token is needed there, and a rebound name has none
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].lower()
        return name in known or (self._is_local and is_loopback(name))

    async def _caller(self, fields: list[tuple[bytes, str]]) -> Caller | None:
        caller = await authenticate(_presented(fields), self._world.store, self._world.clock)
        if caller is None and self._is_local and not await self._world.store.tokens():
            return _NEIGHBOUR
        return caller


def _presented(fields: list[tuple[bytes, str]]) -> str | None:
    """The secret of the one Authorization field; two of them are none."""
    found = [value for name, value in fields if name == b"authorization"]
    scheme, _, secret = (found[0] if len(found) == 1 else "").strip().partition(" ")
    return secret.strip() if scheme.lower() == _SCHEME else None


async def _refuse(
    send: Any,  # noqa: ANN401  # ASGI's own type
    status: int,
    reason: str,
    *more: tuple[bytes, bytes],
) -> None:
    body = f'{{"error":{{"code":"{reason}"}}}}'.encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
