"""Migrates a PostgreSQL database to this version, or waits until another process has.

The same rules as for a file: numbered SQL, each applied once in one transaction, history is never
changed. Two jobs at once take turns by a lock that ends with its transaction, so a pooler may stand
between. Only `feedmill migrate` and `feedmill run` migrate; other commands wait for them.
"""
# Tested in tests/integration/adapters/store/test_migrate.py

import asyncio
from pathlib import Path
from typing import Final

import asyncpg

from feedmill.adapters.store.migrate import Migration, check_applied, read_migrations
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.errors import MigrationError

MIGRATIONS: Final = Path(__file__).parent.parent / "migrations" / "postgres"

_OLDEST: Final = 150_000  # server_version_num of PostgreSQL 15
_LOCK: Final = 7_305_809_110_283_981_925  # any number that no other program takes
_LOOK_SEC: Final = 0.5
_VERSIONS: Final = """CREATE TABLE IF NOT EXISTS schema_versions (
  version integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL)"""


async def migrate(database: Database, folder: Path = MIGRATIONS) -> tuple[str, ...]:
    """Apply what is missing; the names of what was applied now."""
    migrations = read_migrations(folder)
    done: list[str] = []
    while (
        name := await database.write(lambda c: _apply_next(c, migrations, database.name))
    ) is not None:
        done.append(name)
    return tuple(done)


async def check_schema(database: Database, *, wait_sec: float, folder: Path = MIGRATIONS) -> None:
    """Return when the database is at this version; MigrationError when it is not within the wait."""
    migrations = read_migrations(folder)
    waited = 0.0
    while (missing := await database.read(lambda c: _missing(c, migrations, database.name))) > 0:
        if waited >= wait_sec:
            message = (
                f"{database.name}: {missing} migration(s) have not been applied; "
                "run `feedmill migrate` with this version of feedmill"
            )
            raise MigrationError(message, reason="schema-behind")
        await asyncio.sleep(_LOOK_SEC)
        waited += _LOOK_SEC


async def missing_migrations(database: Database, folder: Path = MIGRATIONS) -> tuple[str, ...]:
    """The names of the migrations that the database lacks."""
    migrations = read_migrations(folder)
    missing = await database.read(lambda c: _missing(c, migrations, database.name))
    return tuple(one.name for one in migrations[len(migrations) - missing :])


async def _apply_next(
    connection: PgConnection, migrations: tuple[Migration, ...], where: str
) -> str | None:
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    await _check_server(connection)
    await connection.execute(_VERSIONS)
    applied = await _applied(connection)
    check_applied(applied, migrations, where)
    if len(applied) == len(migrations):
        return None
    following = migrations[len(applied)]
    await connection.execute(following.sql)
    await connection.execute(
        "INSERT INTO schema_versions (version, name, sha256) VALUES ($1, $2, $3)",
        following.version,
        following.name,
        following.sha256,
    )
    return following.name


async def _missing(connection: PgConnection, migrations: tuple[Migration, ...], where: str) -> int:
    """How many migrations the database lacks; a newer or a changed one is refused."""
    try:
        applied = await _applied(connection)
    except asyncpg.UndefinedTableError:
        return len(migrations)
    check_applied(applied, migrations, where)
    return len(migrations) - len(applied)


async def _applied(connection: PgConnection) -> list[tuple[int, str, str]]:
    rows = await connection.fetch(
        "SELECT version, name, sha256 FROM schema_versions ORDER BY version"
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def _check_server(connection: PgConnection) -> None:
    number = int(await connection.fetchval("SELECT current_setting('server_version_num')"))
    if number < _OLDEST:
        message = f"PostgreSQL {number // 10_000} is too old; feedmill needs 15 or newer"
        raise MigrationError(message, reason="old-server")
