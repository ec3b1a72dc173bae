"""No wait for a stranger is for ever: the head of a request and its body come in time, or not at all."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from feedmill.config import ServeConfig


class TimedConnection(H11Protocol):
    """A connection that is ended when the head of a request does not come in time."""

    head_timeout_sec = 10.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._head = self.loop.call_later(self.head_timeout_sec, transport.abort)

    def data_received(self, data: bytes) -> None:
        before: object = self.cycle
        super().data_received(data)
        if (
            self.cycle is not before
        ):  # the head is whole; between requests keep-alive has its own limit
            self._head.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.cancel()
        super().connection_lost(exc)


def timed_connection_class(config: ServeConfig) -> type[TimedConnection]:
    """The connections of a server with these limits."""
    return type("_Connection", (TimedConnection,), {"head_timeout_sec": config.header_timeout_sec})


class TimedBody:
    """The body of a request as it comes in; a sender that stops half-way is taken to have left."""

    def __init__(self, receive: Any, limit_sec: float) -> None:  # noqa: ANN401  # ASGI's own type
        self._receive, self._until = receive, asyncio.get_running_loop().time() + limit_sec
        self._whole = False

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece."""
        if self._whole:
            return await self._receive()  # only waits for the other side to leave
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        self._whole = not message.get("more_body", False)
        return message


class Standing:
    """A stream on which nothing is under way: once we leave, the other side is taken to have left."""

    def __init__(self, receive: Any, leaving: asyncio.Event) -> None:  # noqa: ANN401  # ASGI's own type
        self._receive, self._leaving = receive, leaving

    async def receive(self) -> Any:  # noqa: ANN401  # ASGI's own type
        """The next piece."""
        coming = asyncio.ensure_future(self._receive())
        leaving = asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else {"type": "http.disconnect"}
        finally:
            coming.cancel()
            leaving.cancel()
