"""Databases as `feedmill migrate` leaves them: made once, then copied for each test, or emptied before it.

A new connection reads the catalogue and plans every statement again, which costs PostgreSQL more than most tests do.
So the database that is emptied keeps its connections: one on which it is emptied and checked, and those of the
stories that are told by `run_story`.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, Final

import pytest
from tests.support.loop_thread import LoopThread
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.store.postgres.migrate import migrate
from feedmill.adapters.store.postgres.pool import Database
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.engine.maintain.check_store import check_store
from feedmill.engine.ports.store import Store

# Everything but the history of migrations goes, whatever refers to it; what they had put there is back.
_EMPTY = """DO $$ DECLARE named text; BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);
  FOR named IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'schema_versions'
  LOOP EXECUTE format('DELETE FROM %I', named); END LOOP;
  INSERT INTO log_head DEFAULT VALUES;
END $$"""


@pytest.fixture
def migrated_dsn(postgres: PostgresServer) -> Iterator[str]:
    """A database of this version of feedmill, for this test alone."""
    dsn = migrated_database(postgres)
    yield dsn
    postgres.drop_database(dsn)


@pytest.fixture(scope="session")
def one_database(postgres: PostgresServer) -> Iterator[str]:
    """A database that many tests use one after another: emptying takes less than making."""
    dsn = migrated_database(postgres)
    _kept[dsn], _lent[dsn] = KeptStore(dsn), LentConnections(dsn)
    yield dsn
    _lent.pop(dsn).close()
    _kept.pop(dsn).close()
    postgres.drop_database(dsn)


@pytest.fixture
def emptied_dsn(one_database: str) -> str:
    """An empty database, for this test alone; its partitions and its server were used before."""
    _kept[one_database].empty()
    return one_database


async def problems_of(store: Store, dsn: str | None) -> tuple[str, ...]:
    """What `check_store` finds, over the connection that its database keeps if it has one."""
    if dsn in _kept:
        return await _kept[dsn].problems()
    return (await check_store(store)).problems


def run_story(work: Coroutine[Any, Any, None], dsn: str | None) -> None:
    """`asyncio.run`; on a database that is emptied, stores are lent connections that stay open."""
    if dsn in _lent:
        _lent[dsn].run(work)
    else:
        asyncio.run(work)


class KeptStore:
    """A store with one connection that stays open from test to test."""

    def __init__(self, dsn: str) -> None:
        self._thread = LoopThread()
        self._store = self._thread.start(PostgresStore.open(dsn, connections=1)).result()

    def empty(self) -> None:
        """Delete every row, whoever wrote it."""
        database = self._store.database
        self._thread.start(database.write(lambda c: c.execute(_EMPTY))).result()

    async def problems(self) -> tuple[str, ...]:
        """What is wrong with the database."""
        found = await asyncio.wrap_future(self._thread.start(check_store(self._store)))
        return found.problems

    def close(self) -> None:
        """End the connection and the thread."""
        self._thread.start(self._store.close()).result()
        self._thread.close()


class LentConnections:
    """An event loop that goes on from story to story, and the pools that were opened on it."""

    def __init__(self, dsn: str) -> None:
        self._dsn, self._runner = dsn, asyncio.Runner()
        self._pools: dict[frozenset[tuple[str, Any]], Database] = {}  # by their settings

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """The story to its end; what it left running is cancelled, as `asyncio.run` does."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Database, "open", self._open)
            self._runner.run(_alone(work))

    def close(self) -> None:
        """End the connections and the loop."""
        for pool in self._pools.values():
            self._runner.run(pool.close())
        self._runner.close()

    async def _open(self, url: str, **settings: Any) -> Database:
        if url != self._dsn:
            return await _OPEN(url, **settings)
        key = frozenset(settings.items())
        if key not in self._pools:
            self._pools[key] = await _OPEN(url, **settings)
        return _Lent(self._pools[key]._pool, url, timeout_sec=settings["timeout_sec"])


class _Lent(Database):
    """Closed, it does nothing more; its connections stay."""

    async def close(self) -> None:
        self._closed = True


async def _alone(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    finally:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


_OPEN: Final = Database.open
_kept: dict[str | None, KeptStore] = {}
_lent: dict[str | None, LentConnections] = {}


def migrated_database(server: PostgresServer) -> str:
    """The dsn of a new database of this version."""
    return server.create_database(template=server.template("feedmill_template", _prepare))


def _prepare(dsn: str) -> None:
    async def prepare() -> None:
        database = await Database.open(dsn, connections=1, timeout_sec=HANG_GUARD_SEC)
        await migrate(database)
        await database.close()

    asyncio.run(prepare())
