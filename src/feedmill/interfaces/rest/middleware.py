"""Around every request, whatever route it takes: whom it is meant for, how long it may take, what
is noted of it, and the headers that keep a browser from being used against us.

A request that names another host is refused: a page that makes its own name point to this machine
(DNS rebinding) sends that name. So is a change that a page of another origin asks for.
"""

import asyncio
import re
from typing import Any, Final

from litestar.types import ASGIApp, Message, Receive, Send

from feedmill.engine.service.auth import is_loopback
from feedmill.interfaces.rest.problems import MEDIA_TYPE, PROBLEM_KINDS, RequestError, problem_bytes
from feedmill.interfaces.rest.state import AT_END, AppState
from feedmill.observe.log import logger

# In a scope's extensions, put there by the server:
ABORT: Final = "feedmill.cut"  # ends the connection at once
CROWDED: Final = "feedmill.crowded"  # true when there are too many connections

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS: Final = _SAFE | {"POST", "PUT", "PATCH", "DELETE"}
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\s]+)(?::[0-9]{1,5})?")
_GUARDS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_LONGEST_PATH: Final = 300


def abort_connection(scope: Any) -> None:  # noqa: ANN401  # ASGI's own type
    """End the connection of a request at once; without a server of ours there is none to end."""
    cut = scope.get("extensions", {}).get(ABORT)
    if cut is not None:
        cut()


class Middleware:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, doorway: AppState) -> None:
        self._app, self._doorway = app, doorway
        self._log = logger("rest").bind()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401  # ASGI's own type
        """Answer one request, and note it."""
        clock = self._doorway.services.clock
        began, exchange = clock.monotonic(), _Exchange(scope, receive, send, self._doorway)
        try:
            await self._answer(scope, exchange)
        finally:
            at_end = scope.get("state", {}).get(AT_END)
            if at_end is not None:
                at_end()
            self._note(scope, exchange, clock.monotonic() - began)

    async def _answer(self, scope: Any, exchange: "_Exchange") -> None:  # noqa: ANN401  # ASGI's own type
        refused = self._refusal(scope)
        if refused is not None:
            await exchange.refuse(refused)
            return
        if scope["method"] == "OPTIONS":
            # No other origin is served, so there is nothing to negotiate; and the framework's own
            # answer would name one method of several. As a method that nobody knows, it gets 405.
            scope["method"] = "TRACE"
        if scope["method"] == "HEAD":  # every GET can be asked for without its body
            scope["method"] = "GET"
            exchange.is_head = True
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as problem:  # noqa: BLE001  # the edge of a request: told, and the others go on
            if not exchange.is_over:  # else we ended it, and this is what the routes made of that
                self._log.error("surprised", op=scope["path"][:_LONGEST_PATH], exc_info=problem)
                exchange.cut()

    def _refusal(self, scope: Any) -> str | None:  # noqa: ANN401  # ASGI's own type
        """Why the request goes no further; None when it may."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if scope.get("extensions", {}).get(CROWDED):
            return "too-many-connections"
        host = headers.get(b"host", "")
        if not self._is_ours(host):
            return "bad-host"
        if scope["method"] in _SAFE:
            return None
        origin = headers.get(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            return "cross-origin"
        return "cross-origin" if headers.get(b"sec-fetch-site") == "cross-site" else None

    def _is_ours(self, host: str) -> bool:
        known = self._doorway.config.hosts
        if not self._doorway.is_local and not known:
            return True  # a token is needed there, and a rebound name has none
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].lower()
        return name in known or (self._doorway.is_local and is_loopback(name))

    def _note(self, scope: Any, exchange: "_Exchange", elapsed_sec: float) -> None:  # noqa: ANN401
        """One line and two numbers; no query, no header and no body is ever part of it."""
        method = "HEAD" if exchange.is_head else scope["method"]
        known = method if method in _METHODS else "other"  # strangers invent names
        route = str(scope.get("path_template") or "none")
        self._doorway.metrics.requests.labels(known, route, str(exchange.status)).inc()
        self._doorway.metrics.answer_seconds.observe(elapsed_sec)
        self._log.info(
            "answered",
            method=method,
            path=str(scope["path"])[:_LONGEST_PATH],
            status=exchange.status,
            bytes=exchange.sent_bytes,
            elapsed_ms=round(elapsed_sec * 1000, 1),
            caller=scope.get("state", {}).get("caller"),
        )


class _OverError(Exception):
    """Nothing more is sent: the reader has all that it asked for, or takes nothing."""


class _Exchange:
    """One request and its answer, with a limit on every wait for the other side."""

    def __init__(self, scope: Any, receive: Receive, send: Send, doorway: AppState) -> None:  # noqa: ANN401
        self._scope, self._receive, self._send = scope, receive, send
        self._config, self._clock = doorway.config, doorway.services.clock
        self._until = self._clock.monotonic() + self._config.body_timeout_sec
        self._whole = False  # the body has come
        self.status = 0
        self.sent_bytes = 0
        self.is_head = False
        self.is_over = False

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece of the body; a problem of 408 when it does not come in time."""
        if self._whole:
            return await self._receive()  # only waits for the other side to leave
        try:
            async with asyncio.timeout(self._until - self._clock.monotonic()):
                message = await self._receive()
        except TimeoutError:
            raise RequestError(code="too-slow", headers={"Connection": "close"}) from None
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Hand a piece of the answer over, with our headers, and without the body for HEAD."""
        told: Any = message
        if told["type"] == "http.response.start":
            self.status = told["status"]
            own = {name.lower() for name, _ in told["headers"]}
            more = [(name, value) for name, value in _GUARDS if name not in own]
            told["headers"] = [*told["headers"], *more]
            await self._hand_over(told)
        elif self.is_head:
            await self._hand_over({**told, "body": b"", "more_body": False})
            self._end()  # a stream would go on for ever
        else:
            self.sent_bytes += len(told.get("body", b""))
            await self._hand_over(told)

    async def refuse(self, code: str) -> None:
        """Answer with a problem before any route was asked."""
        body = problem_bytes(code)
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        start: Any = {
            "type": "http.response.start",
            "status": PROBLEM_KINDS[code].status,
            "headers": headers,
        }
        end: Any = {"type": "http.response.body", "body": body, "more_body": False}
        await self.send(start)
        await self.send(end)

    def cut(self) -> None:
        """End the connection at once, whatever is still to be sent."""
        abort_connection(self._scope)

    async def _hand_over(self, message: Any) -> None:  # noqa: ANN401  # ASGI's own type
        """Wait for the reader, but not for ever: nothing is kept for one that takes nothing."""
        try:
            async with asyncio.timeout(self._config.send_timeout_sec):
                await self._send(message)
        except TimeoutError:
            self.cut()
            self._end()

    def _end(self) -> None:
        self.is_over = True
        raise _OverError
