"""How the HTTP server writes an answer to its connection."""

import asyncio
from typing import Any

from tests.support.waiting import hang_guard

from feedmill.config import ServeConfig
from feedmill.interfaces.http_server import BadRequestAnswer, http_server, listen

BAD = BadRequestAnswer("text/plain", b"bad request\n")


async def test_the_head_of_a_stream_does_not_wait_for_its_first_event() -> None:
    head_was_read = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await head_was_read.wait()
        await send({"type": "http.response.body", "body": b"first"})

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    serving = http_server(app, listening, ServeConfig(), drain_sec=1, bad_request=BAD)
    async with hang_guard(), serving:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

        head = await reader.readuntil(b"\r\n\r\n")
        head_was_read.set()
        rest = await reader.read()

        writer.close()
        await writer.wait_closed()
    assert head.startswith(b"HTTP/1.1 200")
    assert b"first" in rest


async def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_read() -> None:
    """RFC 9112, 6.1: such a request may smuggle another one past a proxy that believes the other length."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = f"{scope['method']} {receive} {send} reached the application"
        raise AssertionError(message)

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    serving = http_server(app, listening, ServeConfig(), drain_sec=1, bad_request=BAD)
    async with hang_guard(), serving:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        both = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
        behind = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\n%s\r\n0\r\n\r\n%s" % (both, behind))

        answer = await reader.read()

        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert answer.endswith(BAD.body)
