"""A server that plays an OpenAI-compatible endpoint, well-behaved or not, on a real socket."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

Answer = tuple[int, dict[str, str], bytes] | None  # None: say nothing and keep the line open
Play = Callable[[dict[str, Any], int], Answer]


class Endpoint:
    """What it heard, and how it plays."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.port = 0
        self.asked: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self._lines: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def close(self) -> None:
        """Hang up on everybody."""
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection in a task of our own, which ends with us."""
        self._lines.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length:")[2].split("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                self.headers.append(head)
                self.asked.append(body)
                number = len(self.asked)
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                await asyncio.sleep(0)
                answer = self.play(body, number)
                self.at_once -= 1
                if answer is None:
                    await reader.read()  # until the other side has had enough
                    break
                status, headers, content = answer
                lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}"]
                lines += [f"{name}: {value}" for name, value in headers.items()]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
                await writer.drain()


@asynccontextmanager
async def playing(play: Play) -> AsyncIterator[Endpoint]:
    """The endpoint on loopback until the block ends."""
    endpoint = Endpoint(play)
    server = await asyncio.start_server(endpoint.take, "127.0.0.1", 0)
    endpoint.port = server.sockets[0].getsockname()[1]
    try:
        yield endpoint
    finally:
        server.close()
        await endpoint.close()


def items_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts that were asked about."""
    found: list[dict[str, Any]] = json.loads(body["messages"][1]["content"])["items"]
    return found


def rated(item: dict[str, Any], **more: object) -> dict[str, Any]:
    """A fair judgement of one text."""
    plain = {
        "ref": item["ref"],
        "topic": "bees",
        "score": 95,
        "reason": "about bees",
        "suspicious": False,
    }
    return plain | more


def completion(content: str, status: int = 200, **headers: str) -> Answer:
    """What a model said, in the shape of the protocol."""
    body = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        json.dumps(body).encode(),
    )


def fair(body: dict[str, Any], _: int = 0) -> Answer:
    """Rate everything as it should be."""
    return completion(json.dumps({"results": [rated(item) for item in items_of(body)]}))
