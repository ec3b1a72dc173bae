"""Databases as `feedmill migrate` leaves them: made once, then copied for each test, or emptied before it.

A new connection reads the catalogue and plans every statement again, which costs PostgreSQL more than most tests do.
So the database that is emptied keeps one connection, on which it is emptied and checked.
"""

import asyncio
from collections.abc import Iterator

import pytest
from tests.support.loop_thread import LoopThread
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.migrate import migrate
from feedmill.adapters.store.postgres.pool import Database
from feedmill.adapters.store.postgres.store import PostgresStore
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
    _kept[dsn] = KeptStore(dsn)
    yield dsn
    _kept.pop(dsn).close()
    postgres.drop_database(dsn)


@pytest.fixture
def emptied_dsn(one_database: str) -> str:
    """An empty database, for this test alone; its partitions and its server were used before."""
    _kept[one_database].empty()
    return one_database


async def problems_of(store: Store, dsn: str | None) -> tuple[str, ...]:
    """`store.problems()`, over the connection that its database keeps if it has one."""
    return await (_kept[dsn].problems() if dsn in _kept else store.problems())


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
        return await asyncio.wrap_future(self._thread.start(self._store.problems()))

    def close(self) -> None:
        """End the connection and the thread."""
        self._thread.start(self._store.close()).result()
        self._thread.close()


_kept: dict[str | None, KeptStore] = {}


def migrated_database(server: PostgresServer) -> str:
    """The dsn of a new database of this version."""
    return server.create_database(template=server.template("feedmill_template", _prepare))


def _prepare(dsn: str) -> None:
    async def prepare() -> None:
        database = await Database.open(dsn, connections=1, timeout_sec=30.0)
        await migrate(database)
        await database.close()

    asyncio.run(prepare())
