"""Threads that read, each with its own connection; they wait for no writer."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from feedmill.adapters.store.connections import Connect, store_error
from feedmill.errors import StoreError

T = TypeVar("T")


class Readers:
    """A handful of read-only connections behind a thread pool."""

    def __init__(self, connect: Connect, path: str, *, threads: int) -> None:
        self._connect, self._path = connect, path
        self._mine = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._closed = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="feedmill-reader")

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """What the query returned: one state of the database, however many statements it has."""
        if self._closed:
            message = f"{self._path}: the store is closed"
            raise StoreError(message, reason="closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._read, query)

    async def close(self) -> None:
        """Finish what was asked, then close every connection."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        while self._all:
            self._all.pop().close()

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                return query(connection)
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._connect()
            self._all.append(connection)
        return connection
