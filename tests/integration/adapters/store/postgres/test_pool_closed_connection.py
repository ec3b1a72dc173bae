"""A server that says goodbye to a connection nobody uses: the next who takes it is served by another."""

import asyncio
import logging
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.pool import Database, PgConnection


class PoliteProxy:
    """The way to a server, on which goodbyes are heard before the line goes dead."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._clients: list[asyncio.StreamWriter] = []
        self.connections = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The port of the proxy."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            await server.wait_closed()

    def say_goodbye(self) -> None:
        """What a server that is being restarted says; the connections stay open for now."""
        fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"
        for client in self._clients:
            client.write(b"E" + struct.pack("!i", len(fields) + 4) + fields)
        self._clients.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._clients.append(writer)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(ConnectionError):
            await asyncio.gather(_forward(from_server, writer), _forward(reader, to_server))


@pytest.mark.parametrize("way", ["read", "write", "look"])
async def test_a_connection_that_the_server_has_ended_is_replaced(
    postgres: PostgresServer, way: str
) -> None:
    async def ask(connection: PgConnection) -> object:
        return await connection.fetchval("SELECT 7")

    proxy = PoliteProxy(postgres.port)
    async with proxy.listening() as port:
        dsn = f"postgresql://{postgres.user}@127.0.0.1:{port}/postgres"
        database = await Database.open(dsn, connections=2, timeout_sec=10.0)
        try:
            assert await getattr(database, way)(ask) == 7
            before = proxy.connections
            proxy.say_goodbye()
            await asyncio.sleep(0)  # a turn of the loop takes the goodbye out of the socket
            await asyncio.sleep(0)

            assert await getattr(database, way)(ask) == 7
            assert proxy.connections > before
        finally:
            await database.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_pool_of_the_driver_logs_nothing_of_its_own_while_the_database_is_away() -> None:
    assert not logging.getLogger("asyncpg.pool").isEnabledFor(logging.ERROR)
