"""Transactions that meet on one PostgreSQL, held at the very moment that a test is about."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from tests.support.waiting import hang_guard

from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.postgres.store import PostgresStore

T = TypeVar("T")


@asynccontextmanager
async def stores(dsn: str, count: int = 1, **options: object) -> AsyncIterator[list[PostgresStore]]:
    """So many stores on one database, as if each were a process of its own; sound at the end."""
    opened = [
        await PostgresStore.open(dsn, **{"connections": 4, **options})  # type: ignore[arg-type]  # as the test says
        for _ in range(count)
    ]
    try:
        yield opened
        assert await opened[0].problems() == ()
    finally:
        for store in opened:
            await store.close()


class Held:
    """A transaction that has done its work and is not committed until it is let go."""

    def __init__(self, database: Database, work: Callable[[PgConnection], Awaitable[T]]) -> None:
        self._worked, self._let_go = asyncio.Event(), asyncio.Event()
        self._fails = False

        async def job(connection: PgConnection) -> T:
            value = await work(connection)
            self._worked.set()
            await self._let_go.wait()
            if self._fails:
                raise RuntimeError
            return value

        self.task = asyncio.create_task(database.write(job))

    async def worked(self) -> "Held":
        """Return when everything is written and nothing is committed."""
        async with hang_guard():
            await self._worked.wait()
        return self

    async def commit(self) -> None:
        self._let_go.set()
        async with hang_guard():
            await self.task

    async def roll_back(self) -> None:
        self._fails = True
        self._let_go.set()
        await asyncio.gather(self.task, return_exceptions=True)


async def until_it_waits(database: Database, rival: "asyncio.Task[T]") -> None:
    """Return when the rival waits for somebody's lock, or is done without having waited."""
    async with hang_guard():
        while not rival.done() and not await database.read(_waiting):
            await asyncio.wait({rival}, timeout=0.005)


async def _waiting(connection: PgConnection) -> bool:
    count: int = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return count > 0
