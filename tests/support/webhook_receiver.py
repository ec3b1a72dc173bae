"""A program that is told: it keeps every delivery, and answers as a test wants it to.

async with receiving() as receiver:
    receiver.say("/hook", 500, 500, 204)      # one after the other, the last one for ever
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

HANG: Final = 0  # instead of a status: take the request and never answer
CUT: Final = -1  # take the request and close the connection


class Taken(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def events(self) -> list[Any]:
        """The events of the batch."""
        found: list[Any] = json.loads(self.body)
        return found


class Receiver:
    """The server, what it says, and what it heard."""

    def __init__(self) -> None:
        self.port = 0
        self.taken: list[Taken] = []
        self._answers: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        self._open: set[asyncio.StreamWriter] = set()
        self._news = asyncio.Event()

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def say(self, path: str, *statuses: int, headers: tuple[str, ...] = ()) -> None:
        """Answer like this from now on, the last status for ever."""
        self._answers[path] = [(status, headers) for status in statuses]

    def to(self, path: str = "/hook") -> list[Taken]:
        return [one for one in self.taken if one.path == path]

    def told(self, path: str = "/hook") -> list[int]:
        """The numbers of the events, in the order of their arrival, with repetitions."""
        return [event["seq"] for one in self.to(path) for event in one.events]

    async def heard(self, requests: int, path: str = "/hook") -> list[Taken]:
        """Wait until so many requests came to a path."""
        while len(self.to(path)) < requests:
            self._news.clear()
            await self._news.wait()
        return self.to(path)

    async def heard_all(self, last_seq: int, path: str = "/hook") -> list[int]:
        """Wait until an event with this number has come."""
        while last_seq not in self.told(path):
            self._news.clear()
            await self._news.wait()
        return self.told(path)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                taken = await _take(reader)
                self.taken.append(taken)
                self._news.set()
                answers = self._answers.get(taken.path) or [(204, ())]
                status, headers = answers.pop(0) if len(answers) > 1 else answers[0]
                if status == HANG:
                    await reader.read(1)
                if status in (HANG, CUT):
                    break
                lines = [f"HTTP/1.1 {status} Said", *headers]
                if status != 204:
                    lines.append("Content-Length: 0")
                writer.write("\r\n".join([*lines, "", ""]).encode())
                await writer.drain()
        self._open.discard(writer)
        writer.close()

    def hang_up(self) -> None:
        for writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    listener = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = listener.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        listener.close()
        receiver.hang_up()
        await asyncio.sleep(0)


async def _take(reader: asyncio.StreamReader) -> Taken:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Taken(method, path, headers, body)
