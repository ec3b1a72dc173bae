"""ASGI middleware of the REST API: host and origin checks, time limits, access log, metrics and
security headers."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Message, Receive, Send

from feedmill.engine.run.memory_budget import MemoryShare
from feedmill.interfaces.http_server import (
    CLOSE,
    TimedBody,
    abort_connection,
    is_crowded,
    send_whole,
)
from feedmill.interfaces.request_auth import is_allowed_host, is_cross_origin
from feedmill.interfaces.rest.problems import MEDIA_TYPE, PROBLEM_KINDS, problem_bytes
from feedmill.interfaces.server_state import APP_STATE, AT_END, AppState
from feedmill.observe.log import logger

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS: Final = _SAFE | {"POST", "PUT", "PATCH", "DELETE"}
_GUARDS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_LONGEST_PATH: Final = 300


class Middleware:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        self._app, self._state = app, state
        self._log = logger("rest")

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401  # ASGI's own type
        """Handle one request and log it."""
        clock = self._state.services.clock
        scope.setdefault("state", {})[APP_STATE] = self._state
        began = clock.monotonic()
        with self._state.uploads.share() as room:
            exchange = _Exchange(scope, receive, send, self._state, room)
            try:
                await self._answer(scope, exchange)
            finally:
                at_end = scope["state"].get(AT_END)
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
            # answer would name one method of several. As an unknown method it gets 405.
            scope["method"] = "TRACE"
        if scope["method"] == "HEAD":  # every GET can be asked for without its body
            scope["method"] = "GET"
            exchange.is_head = True
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as problem:  # noqa: BLE001  # the edge of a request: told, and the others go on
            if not exchange.is_over:  # else we ended it, and this is what the routes made of that
                self._log.error(
                    "unexpected error", op=scope["path"][:_LONGEST_PATH], exc_info=problem
                )
                exchange.cut()

    def _refusal(self, scope: Any) -> str | None:  # noqa: ANN401  # ASGI's own type
        """The problem code that rejects the request; None when it is accepted."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if is_crowded(scope):
            return "too-many-connections"
        config, is_local = self._state.config, self._state.is_local
        if not is_allowed_host(headers.get(b"host", ""), config.hosts, is_local=is_local):
            return "bad-host"
        if scope["method"] not in _SAFE and is_cross_origin(headers):
            return "cross-origin"
        return None

    def _note(self, scope: Any, exchange: "_Exchange", elapsed_sec: float) -> None:  # noqa: ANN401
        """Log one line and update two metrics; never with a query, header or body."""
        method = "HEAD" if exchange.is_head else scope["method"]
        known = method if method in _METHODS else "other"  # strangers invent names
        route = str(scope.get("path_template") or "none")
        self._state.metrics.requests.labels(known, route, str(exchange.status)).inc()
        self._state.metrics.answer_seconds.observe(elapsed_sec)
        self._log.info(
            "answered",
            method=method,
            path=str(scope["path"])[:_LONGEST_PATH],
            status=exchange.status,
            bytes=exchange.sent_bytes,
            elapsed_ms=round(elapsed_sec * 1000, 1),
            caller=scope["state"].get("caller"),
        )


class _OverError(Exception):
    """Nothing more is sent: the response is complete, or the client reads nothing."""


class _Exchange:
    """One request and its response, with a timeout on every wait for the client."""

    def __init__(
        self,
        scope: Any,  # noqa: ANN401  # ASGI's own type
        receive: Receive,
        send: Send,
        state: AppState,
        room: MemoryShare,
    ) -> None:
        self._scope, self._send = scope, send
        self._config = state.config
        self._body = TimedBody(receive, self._config.body_timeout_sec, room)
        self._more: tuple[tuple[bytes, bytes], ...] = _GUARDS
        self.status = 0
        self.sent_bytes = 0
        self.is_head = False
        self.is_over = False

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece of the body; REST and the console answer 408 when it does not arrive in time."""
        try:
            return await self._body.receive()
        except TimeoutError:
            self._more = (*_GUARDS, CLOSE)
            raise HTTPException(status_code=HTTPStatus.REQUEST_TIMEOUT) from None

    async def send(self, message: Message) -> None:
        """Send a piece of the response, with security headers, without the body for HEAD."""
        answer: Any = message
        if answer["type"] == "http.response.start":
            self.status = answer["status"]
            own = {name.lower() for name, _ in answer["headers"]}
            more = [(name, value) for name, value in self._more if name not in own]
            answer["headers"] = [*answer["headers"], *more]
            await self._hand_over(answer)
        elif self.is_head:
            await self._hand_over({**answer, "body": b"", "more_body": False})
            self._end()  # a stream would go on for ever
        else:
            self.sent_bytes += len(answer.get("body", b""))
            await self._hand_over(answer)

    async def refuse(self, code: str) -> None:
        """Answer with a problem before any route is called."""
        status = PROBLEM_KINDS[code].status
        await send_whole(self.send, status, MEDIA_TYPE, problem_bytes(code), CLOSE)

    def cut(self) -> None:
        """Abort the connection, whatever is still to be sent."""
        abort_connection(self._scope)

    async def _hand_over(self, message: Any) -> None:  # noqa: ANN401  # ASGI's own type
        """Send with a timeout: nothing is buffered for a client that reads nothing."""
        try:
            async with asyncio.timeout(self._config.send_timeout_sec):
                await self._send(message)
        except TimeoutError:
            self.cut()
            self._end()

    def _end(self) -> None:
        self.is_over = True
        raise _OverError
