"""One port that speaks http and https, as hosts on the web do on two."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from feedmill_demo.server.server import Publisher

_TLS_HELLO = b"\x16"


@asynccontextmanager
async def both_schemes(plain: Publisher, tls: ssl.SSLContext) -> AsyncIterator[Publisher]:
    """A second publisher that speaks TLS; its `port` is one at which both answer."""
    async with Publisher(tls=tls) as private:
        ports = {True: private.port, False: plain.port}

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            first = await reader.read(1)
            if first:
                there, back = await asyncio.open_connection("127.0.0.1", ports[first == _TLS_HELLO])
                back.write(first)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(_pump(reader, back))
                    tasks.create_task(_pump(there, writer))
            writer.close()

        # Not `async with`: since Python 3.12 its end waits for connections that the fetcher keeps.
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        private.port = server.sockets[0].getsockname()[1]
        yield private
        server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()
