"""Threads that read, each with its own connection; they wait for no writer.

A thread takes the questions that wait, a handful at a time, and answers them from one state of
the database: the threads wake the event loop once for all of them, and SQLite, which forgets its
pages after every write, reads the upper ones once. A question that was asked after that state was
fixed waits for the next one: it may follow a write, and has to see it. Of the threads that have
nothing to do, the one that worked last is asked first: its pages are still at hand.
"""
# Tested in tests/integration/adapters/store/sqlite/

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, TypeVar

from feedmill.adapters.store.sqlite.connection import FROM_STORE, Connect, store_error
from feedmill.adapters.store.sqlite.writer import JobOutcome, WriteJob, resolve
from feedmill.errors import StoreError

T = TypeVar("T")

READ_GROUP_JOBS: Final = 16
READ_GROUP_SEC: Final = 0.005  # a slow question keeps the others of its group waiting no longer


class Readers:
    """A handful of read-only connections, each on a thread of its own."""

    def __init__(self, connect: Connect, path: str, *, threads: int) -> None:
        self._connect, self._path = connect, path
        self._lock = threading.Lock()  # of the four below
        self._waits: deque[tuple[int, WriteJob]] = deque()  # numbered in the order of asking
        self._asked = 0
        self._idle: list[SimpleQueue[None]] = []  # a bell for each thread, the last to rest last
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"feedmill-reader-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """What the query returned: one state of the database, however many statements it has."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._closed:
                message = f"{self._path}: the store is closed"
                raise StoreError(message, reason="closed")
            self._asked += 1
            self._waits.append((self._asked, WriteJob(query, future, loop)))
            bell = self._idle.pop() if self._idle else None
        if bell is not None:
            bell.put(None)
        return await future

    async def close(self) -> None:
        """Finish what was asked, then end the threads; each closes its connection."""
        with self._lock:
            self._closed = True
            bells, self._idle = self._idle, []
        for bell in bells:
            bell.put(None)
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        """A thread's whole life: one group after the other, until there will be none."""
        connection: sqlite3.Connection | None = None
        bell: SimpleQueue[None] = SimpleQueue()
        while (found := self._next(bell)) is not None:
            asked, first = found
            try:
                connection = connection or self._connect()
                outcomes = self._answer(connection, first, asked)
            except Exception as error:  # noqa: BLE001  # the edge of a task: raised in what waits
                outcomes = [JobOutcome(first, error=self._translated(error))]
            resolve(outcomes)
        if connection is not None:
            connection.close()

    def _next(self, bell: "SimpleQueue[None]") -> tuple[int, WriteJob] | None:
        """How many were asked so far, and the question that waits longest; None at the end of all."""
        while True:
            with self._lock:
                if self._waits:
                    return self._asked, self._waits.popleft()[1]
                if self._closed:
                    return None
                self._idle.append(bell)
            bell.get()

    def _answer(
        self, connection: sqlite3.Connection, first: WriteJob, asked: int
    ) -> list[JobOutcome]:
        connection.execute("BEGIN")
        try:
            return [self._ask(connection, job) for job in self._waiting(first, asked)]
        finally:
            with suppress(sqlite3.DatabaseError):
                # Of a transaction that met a damaged page: it is over.
                connection.execute("COMMIT")

    def _waiting(self, first: WriteJob, asked: int) -> Iterator[WriteJob]:
        """The first question, then those that were asked before the transaction began."""
        deadline = time.monotonic() + READ_GROUP_SEC
        yield first
        for _ in range(READ_GROUP_JOBS - 1):
            if time.monotonic() >= deadline:
                return
            with self._lock:
                if not self._waits or self._waits[0][0] > asked:
                    return
                _, job = self._waits.popleft()
            yield job

    def _ask(self, connection: sqlite3.Connection, job: WriteJob) -> JobOutcome:
        try:
            return JobOutcome(job, job.run(connection))
        except Exception as error:  # noqa: BLE001  # one bad query does not fail the others
            return JobOutcome(job, error=self._translated(error))

    def _translated(self, error: Exception) -> BaseException:
        return store_error(error, self._path) if isinstance(error, FROM_STORE) else error


class ChangeWatch:
    """Tells whether anything was committed since, by any process, in microseconds and without waiting.

    SQLite tells a connection about the commits of all others. What was read while the number was the same is what a
    reader would find now, so interfaces may keep answers that are asked for again and again.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None  # opened when first asked
        self._closed = False

    def version(self) -> int | None:
        """The number, which changes with every commit; None when the file does not answer at once."""
        if self._closed:
            return None
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._connection.execute("PRAGMA busy_timeout = 0")  # it is asked on the event loop
            found: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        except (sqlite3.Error, StoreError):
            return None
        return found

    def close(self) -> None:
        """End the connection; there is no number any more."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
