"""/metrics and /healthz on loopback while `feedmill run` works; nothing else is served."""

import asyncio
from contextlib import suppress
from typing import Protocol

from feedmill.errors import UsageError
from feedmill.observe.metrics import Metrics


class Stoppable(Protocol):
    """Whoever can be asked whether it is over."""

    def is_stopping(self) -> bool: ...
    async def pause(self, seconds: float) -> None: ...


async def serve_metrics(metrics: Metrics, port: int, watch: Stoppable) -> None:
    """Answer GET /metrics until the run ends."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(
            TimeoutError,
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            async with asyncio.timeout(5):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, metrics))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, "127.0.0.1", port, limit=16_384)
    except OSError as problem:
        message = f"/metrics cannot be served on port {port} ({problem.strerror}); choose another"
        raise UsageError(message) from problem
    async with server:
        while not watch.is_stopping():
            await watch.pause(3600)


def _answer(head: bytes, metrics: Metrics) -> bytes:
    path = head.split(b" ", 2)[1].split(b"?")[0] if head.count(b" ") >= 2 else b""
    if path == b"/metrics":
        status, kind, body = b"200 OK", b"text/plain; version=0.0.4", metrics.page()
    elif path == b"/healthz":
        status, kind, body = b"200 OK", b"text/plain", b"ok\n"
    else:
        status, kind, body = b"404 Not Found", b"text/plain", b"try /metrics\n"
    return (
        b"HTTP/1.1 " + status + b"\r\nContent-Type: " + kind
        + b"\r\nX-Content-Type-Options: nosniff\r\nContent-Length: " + str(len(body)).encode()
        + b"\r\nConnection: close\r\n\r\n" + body
    )  # fmt: skip
