"""Asking a role's page, and taking what it says to systemd."""

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.support.waiting import hang_guard, wait_for_answer


class Answer(NamedTuple):
    """What a page said; status 0 when nobody answered."""

    status: int
    body: bytes

    @property
    def reasons(self) -> set[tuple[str, str]]:
        """Part and reason of everything that is wrong."""
        told: dict[str, Any] = json.loads(self.body)
        return {(one["part"], one["reason"]) for one in told["reasons"]}


async def ask(port: int, path: str) -> Answer:
    """One GET on loopback."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return Answer(0, b"")
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    async with hang_guard():
        whole = await reader.read()
    writer.close()
    status, _, body = whole.partition(b"\r\n\r\n")
    return Answer(int(status.split(b" ")[1]) if status else 0, body)


async def until_answer(port: int, path: str, fits: Callable[[Answer], bool], what: str) -> Answer:
    """Ask until the answer fits."""
    return await wait_for_answer(lambda: ask(port, path), fits, what)


class Systemd:
    """The datagram socket that a supervisor listens at."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self.heard: list[str] = []
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        self._line.bind(self.address)
        self._line.settimeout(0.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    async def until(self, *words: str) -> None:
        """Listen until each of the words was heard."""
        loop = asyncio.get_running_loop()
        try:
            async with hang_guard():
                while not set(words) <= set(self.heard):
                    said = await loop.sock_recv(self._line, 4096)
                    self.heard += said.decode().split("\n")
        except TimeoutError:
            message = f"still waiting for {words}; heard {self.heard}"
            raise AssertionError(message) from None
