"""A way to PostgreSQL that breaks once, exactly when a transaction is being committed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Moment = Literal["before", "after"]


class CuttingProxy:
    """Forwards bytes; the first COMMIT is cut before the server has it, or before its answer is read."""

    def __init__(self, port: int, moment: Moment) -> None:
        self._port, self._moment = port, moment
        self.is_armed = False
        self.cuts = 0

    @asynccontextmanager
    async def listening(self, dsn: str) -> AsyncIterator[str]:
        """The same database by the way of the proxy."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield dsn.replace(f":{self._port}/", f":{port}/")
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            with suppress(ConnectionError):
                async with asyncio.TaskGroup() as tasks:
                    answers = tasks.create_task(_forward(from_server, writer))
                    await self._ask(reader, to_server, answers)
        finally:
            writer.close()
            to_server.close()

    async def _ask(
        self,
        reader: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        answers: "asyncio.Task[None]",
    ) -> None:
        while data := await reader.read(65_536):
            if self.is_armed and b"COMMIT;" in data:
                self.is_armed = False
                self.cuts += 1
                answers.cancel()
                if self._moment == "after":
                    to_server.write(data)
                    await to_server.drain()
                return
            to_server.write(data)
            await to_server.drain()
        answers.cancel()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()  # who asked to end waits for the server to have ended
