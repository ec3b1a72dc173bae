"""The listener for WebSub hubs: GET and POST /push/{token}, without a token of the API, and nothing else.

It stands behind a reverse proxy; `[push] public_url` is where hubs reach it. Everything is limited:
the size of a body, its time, the pings of one subscription, and look-ups of tokens that are not known.
"""
# Tested in tests/integration/engine/push/test_push_faults.py

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Final

from feedmill.config import AccessConfig, ServeConfig
from feedmill.engine.push import NOT_FOUND, CallbackAnswer, receive, verify
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter
from feedmill.errors import FeedmillError
from feedmill.interfaces.http_server import (
    NOT_KEPT,
    BadRequestAnswer,
    http_server,
    listen,
    send_in_time,
    send_whole,
)
from feedmill.model.fetch import Headers
from feedmill.observe.log import logger
from feedmill.push.hub import decode_form

_LIMITS: Final = ServeConfig(header_timeout_sec=10.0, send_timeout_sec=10.0)
_TOKEN_CHARS: Final = range(20, 100)
_UNKNOWN_PER_SEC: Final = 50.0  # look-ups of tokens that were not seen before
_KNOWN_TOKENS: Final = 100_000
_DRAIN_SEC: Final = 5.0
_TEXT: Final = "text/plain; charset=utf-8"


@asynccontextmanager
async def push_listener(services: Services) -> AsyncIterator[str | None]:
    """Listen while the block runs; the address. None when push is off or this process does not listen."""
    config = services.config.push
    if config.public_url is None or config.port == 0:
        yield None
        return
    hint = "choose another port with FEEDMILL_PUSH_PORT, or 0 to listen in another process only"
    known = [one.token for one in await services.store.push_subscriptions()]
    serving = http_server(
        PushListener(services, known),
        listen(config.host, config.port, hint),
        _LIMITS,
        drain_sec=_DRAIN_SEC,
        bad_request=BadRequestAnswer("text/plain", b"bad request\n"),
    )
    async with serving as address:
        yield address


class PushListener:
    """The ASGI application."""

    def __init__(self, services: Services, known: Iterable[str] = ()) -> None:
        """`known` callbacks are not refused while others are tried out by strangers."""
        self._services = services
        rate = services.config.push.pings_per_sec
        self._pings = RateLimiter(
            AccessConfig(requests_per_sec=rate, burst=max(1, int(rate * 4))), services.clock
        )
        self._unknown = RateLimiter(
            AccessConfig(requests_per_sec=_UNKNOWN_PER_SEC, burst=int(_UNKNOWN_PER_SEC)),
            services.clock,
        )
        self._known = dict.fromkeys(islice(known, _KNOWN_TOKENS))

    async def __call__(self, scope: Any, read: Any, send: Any) -> None:  # noqa: ANN401  # ASGI's own types
        answer, wait_sec = await self._answer(scope, read)
        wait = ((b"retry-after", str(int(wait_sec) + 1).encode()),) if wait_sec else ()
        sending = send_whole(send, answer.status, _TEXT, answer.body, *NOT_KEPT, *wait)
        await send_in_time(scope, sending, _LIMITS.send_timeout_sec)

    async def _answer(self, scope: Any, read: Any) -> tuple[CallbackAnswer, float]:  # noqa: ANN401
        token = _token_of(scope["path"])
        if token is None:
            return CallbackAnswer(404, b"hubs use /push/{token}\n"), 0.0
        limiter = (self._pings, token) if token in self._known else (self._unknown, "")
        wait_sec = limiter[0].admit(limiter[1])
        if wait_sec:
            return CallbackAnswer(429, b"too many requests\n"), wait_sec
        try:
            return await self._served(scope, read, token), 0.0
        except FeedmillError as problem:
            logger("push").error("unavailable", reason=problem.reason, detail=str(problem))
            return CallbackAnswer(503, b"try again later\n"), 30.0

    async def _served(self, scope: Any, read: Any, token: str) -> CallbackAnswer:  # noqa: ANN401
        if (
            token not in self._known
        ):  # before its body is read: bodies of strangers would fill the memory
            if await self._services.store.push_subscription(token) is None:
                return NOT_FOUND
            self._remember(token)
        if scope["method"] == "GET":
            query = decode_form(scope["query_string"].decode("latin-1"))
            return await verify(token, query, self._services)
        if scope["method"] != "POST":
            return CallbackAnswer(405, b"GET or POST\n")
        body = await self._body(scope, read)
        if isinstance(body, CallbackAnswer):
            return body
        headers: Headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        return await receive(token, headers, body, self._services)

    async def _body(self, scope: Any, read: Any) -> bytes | CallbackAnswer:  # noqa: ANN401
        most = self._services.config.push.body_bytes
        declared = next((v for n, v in scope["headers"] if n == b"content-length"), b"")
        if declared.isdigit() and int(declared) > most:
            return CallbackAnswer(413, b"too large\n")
        pieces, size = list[bytes](), 0
        try:
            async with asyncio.timeout(_LIMITS.body_timeout_sec):
                while True:
                    message = await read()
                    if message["type"] == "http.disconnect":
                        return CallbackAnswer(400, b"cut off\n")
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > most:
                        return CallbackAnswer(413, b"too large\n")
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError:
            return CallbackAnswer(408, b"too slow\n")

    def _remember(self, token: str) -> None:
        self._known[token] = None
        if len(self._known) > _KNOWN_TOKENS:
            del self._known[next(iter(self._known))]


def _token_of(path: str) -> str | None:
    """The token of …/push/{token}; a proxy may put something in front."""
    *_, kind, token = ("", "", *path.split("/"))
    return token if kind == "push" and len(token) in _TOKEN_CHARS else None
