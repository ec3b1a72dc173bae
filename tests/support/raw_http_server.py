"""A server that says whatever a script tells it to, octet by octet, and remembers what it heard."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from socket import SO_LINGER, SOL_SOCKET


class Heard:
    """One request as it came over the wire."""

    def __init__(self, raw: bytes, connection: int) -> None:
        first, *lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        self.headers = tuple(
            (name, value.strip(" ")) for name, _, value in (line.partition(":") for line in lines)
        )
        self.connection = connection

    def value(self, name: str) -> str | None:
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)


class Line:
    """One connection, seen from the server."""

    def __init__(
        self,
        server: "Server",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        number: int,
    ) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self.number = number

    async def hear(self) -> Heard:
        heard = Heard(await self._reader.readuntil(b"\r\n\r\n"), self.number)
        self._server.heard.append(heard)
        return heard

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def drip(self, data: bytes, gap_sec: float) -> None:
        for octet in data:
            await self.say(bytes([octet]))
            await asyncio.sleep(gap_sec)

    def reset(self) -> None:
        """End the connection with a RST."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def hold(self) -> None:
        """Say nothing until the client has gone."""
        while await self._reader.read(1024):
            pass

    async def relay(self, port: int) -> None:
        """Pass on whatever either side says until one of them has gone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.wait(
                {
                    asyncio.ensure_future(_pour(self._reader, writer)),
                    asyncio.ensure_future(_pour(reader, self._writer)),
                },
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            writer.close()

    @property
    def session_reused(self) -> bool:
        return bool(self._writer.get_extra_info("ssl_object").session_reused)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)


Script = Callable[[Line], Awaitable[None]]


class Server:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._lines: set[asyncio.StreamWriter] = set()
        self.heard: list[Heard] = []
        self.connections = 0
        self.resumed: list[bool] = []
        self.port = 0
        self.scheme = "http"

    def url(self, path: str = "/feed", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._lines.add(writer)
        line = Line(self, reader, writer, self.connections)
        if self.scheme == "https":
            self.resumed.append(line.session_reused)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            await self._script(line)
        self._lines.discard(writer)
        writer.close()

    def hang_up(self) -> None:
        for writer in self._lines:
            writer.transport.abort()


@asynccontextmanager
async def serving(
    script: Script, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Server]:
    server = Server(script)
    server.scheme = "http" if tls is None else "https"
    listener = await asyncio.start_server(server.serve, host, port, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        server.hang_up()
        # Let the scripts see that nobody is there any more.
        await asyncio.sleep(0)


def always(answer: bytes) -> Script:
    """The same answer to every request, on a connection that is kept."""

    async def script(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(answer)

    return script


def once(answer: bytes) -> Script:
    """One answer, then the connection is closed."""

    async def script(line: Line) -> None:
        await line.hear()
        await line.say(answer)

    return script


def by_path(answers: dict[str, bytes]) -> Script:
    async def script(line: Line) -> None:
        while True:
            heard = await line.hear()
            await line.say(answers[heard.target])

    return script


def answer(status: int = 200, *fields: str, body: bytes = b"") -> bytes:
    """A well-formed answer with its length."""
    lines = [f"HTTP/1.1 {status} Said", *fields]
    if status not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(location: str, status: int = 302) -> bytes:
    return answer(status, f"Location: {location}")
