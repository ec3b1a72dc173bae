"""A client with no opinions: it sends what it is told and returns every octet that comes."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from tests.support.waiting import hang_guard

from feedmill_demo.server.server import Publisher


@pytest.fixture
def ask() -> Callable[..., Coroutine[None, None, bytes]]:
    """GET a target with these header lines and return the whole answer, up to the end."""
    return _ask


async def _ask(publisher: Publisher, target: str = "/feed", *lines: str) -> bytes:
    head = [f"GET {target} HTTP/1.1", "Host: village.test", *lines, "Connection: close", "", ""]
    async with hang_guard():
        reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
        writer.write("\r\n".join(head).encode("latin-1"))
        try:
            return await reader.read()
        finally:
            writer.close()
