"""Databases as `feedmill migrate` leaves them: made once, then copied for each test."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.migrate import migrate
from feedmill.adapters.store.postgres.pool import Database

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
    yield dsn
    postgres.drop_database(dsn)


@pytest.fixture
def emptied_dsn(postgres: PostgresServer, one_database: str) -> str:
    """An empty database, for this test alone; its partitions and its server were used before."""
    postgres.run_sql(_EMPTY, dsn=one_database)
    return one_database


def migrated_database(server: PostgresServer) -> str:
    """The dsn of a new database of this version."""
    return server.create_database(template=server.template("feedmill_template", _prepare))


def _prepare(dsn: str) -> None:
    async def prepare() -> None:
        database = await Database.open(dsn, connections=1, timeout_sec=30.0)
        await migrate(database)
        await database.close()

    asyncio.run(prepare())
