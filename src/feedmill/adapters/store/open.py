"""Which store the settings name: SQLite in the home folder or PostgreSQL; opened and migrated.

SQLite is migrated when it is opened. PostgreSQL is migrated by `feedmill migrate`, `run` and `init`;
other commands wait for them, or say that the database has to be migrated.
"""
# Tested in tests/contracts/store/

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from feedmill.adapters.store import migrate as files
from feedmill.adapters.store.log_position import FILE_NAME, LogPosition
from feedmill.adapters.store.sqlite.connection import connect, translated
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.config import Config
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.ports.io import Clock
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lifecycle import STORE_AWAY
from feedmill.errors import StoreError, needs_extra
from feedmill.schedule.host_pace import gap_ms, lanes_by_host

if TYPE_CHECKING:
    from feedmill.adapters.store.postgres.pool import Database
    from feedmill.adapters.store.postgres.store import PostgresStore

T = TypeVar("T")

Schema = Literal["apply", "await", "check"]  # migrate, wait until it is migrated, or refuse

_AGAIN_SEC: Final = 0.5
_MIGRATION_SEC: Final = 6 * 3600.0  # an index of a large table takes its time; so does another job


async def open_store(config: Config, path: Path, now: datetime, *, schema: Schema) -> Store:
    """The store of the settings; `path` is SQLite's file where they name no other."""
    store = await _open_store(config, path, now, schema)
    store.log_position = LogPosition(path.parent / FILE_NAME)
    return store


async def _open_store(
    config: Config, path: Path, now: datetime, schema: Schema
) -> "SqliteStore | PostgresStore":
    settings = config.store
    if settings.url is None:
        return await SqliteStore.open(
            path,
            gap_ms=gap_ms(config.host),
            synchronous=settings.synchronous,
            readers=settings.readers,
            patience_sec=settings.patience_sec,
            searchable=config.search.enabled,
        )
    if schema == "apply":
        await apply_migrations(config, path, now)
    return await _open_postgres(config, settings.url, schema)


def delivered_position(home: Path) -> NewestEvent | None:
    """The newest event that a process of this home folder has told, None when none is known."""
    return LogPosition(home / FILE_NAME).read()


async def apply_migrations(config: Config, path: Path, now: datetime) -> tuple[str, ...]:
    """Bring the store to this version; the names of what was applied now."""
    if config.store.url is None:
        missing = await missing_migrations(config, path)
        store = await SqliteStore.open(path, patience_sec=config.store.patience_sec)
        await store.close()
        return missing
    from feedmill.adapters.store.postgres import migrate, partitions  # noqa: PLC0415  # an extra

    wait_sec = config.store.migrate_wait_sec
    async with _connected(
        config, config.store.url, wait_sec, statement_sec=_MIGRATION_SEC
    ) as database:
        applied = await migrate.migrate(database)
        await partitions.ensure_partitions(database, now)
    return applied


async def missing_migrations(config: Config, path: Path) -> tuple[str, ...]:
    """The names of the migrations that the store lacks; MigrationError when it is another's."""
    if config.store.url is None:
        return await asyncio.to_thread(_missing_from_file, path)
    from feedmill.adapters.store.postgres import migrate  # noqa: PLC0415  # an extra

    async with _connected(config, config.store.url, 0.0) as database:
        return await migrate.missing_migrations(database)


def _missing_from_file(path: Path) -> tuple[str, ...]:
    migrations = files.read_migrations()
    if not path.exists():
        return tuple(one.name for one in migrations)

    def look() -> list[tuple[int, str, str]]:
        with closing(connect(str(path))) as connection:
            return files.applied_to(connection)

    applied = translated(str(path), look)
    files.check_applied(applied, migrations, str(path))
    return tuple(one.name for one in migrations[len(applied) :])


async def _open_postgres(config: Config, url: str, schema: Schema) -> "PostgresStore":
    check_postgres()
    from feedmill.adapters.store.postgres.store import PostgresStore  # noqa: PLC0415  # an extra

    settings = config.store
    wait_sec = 0.0 if schema == "check" else settings.migrate_wait_sec

    async def open_now() -> PostgresStore:
        return await PostgresStore.open(
            url,
            gap_ms=gap_ms(config.host),
            # Who only looks in leaves the lanes as they are.
            lanes=None if schema == "check" else lanes_by_host(config.host),
            connections=settings.connections,
            timeout_sec=settings.timeout_sec,
            pooled=settings.pooled,
            wait_sec=wait_sec,
            searchable=config.search.enabled,
        )

    return await _patiently(open_now, wait_sec)


@asynccontextmanager
async def _connected(
    config: Config, url: str, wait_sec: float, *, statement_sec: float | None = None
) -> "AsyncIterator[Database]":
    check_postgres()
    from feedmill.adapters.store.postgres.pool import Database  # noqa: PLC0415  # an extra

    async def connect_now() -> Database:
        return await Database.open(
            url,
            connections=1,
            timeout_sec=config.store.timeout_sec,
            statement_sec=statement_sec,
            pooled=config.store.pooled,
        )

    database = await _patiently(connect_now, wait_sec)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def clock_of(store: Store, machine: Clock) -> AsyncIterator[Clock]:
    """The clock for work on the store: the machine's own, or that of its database."""
    database = getattr(store, "database", None)
    if database is None:
        yield machine
        return
    from feedmill.adapters.store.postgres.pool import DatabaseClock  # noqa: PLC0415  # an extra

    clock = DatabaseClock(machine)
    await clock.follow(database)
    following = asyncio.create_task(clock.keep_following(database))
    try:
        yield clock
    finally:
        following.cancel()
        await asyncio.wait({following})


def check_postgres() -> None:
    """MissingExtraError when what speaks to PostgreSQL is not installed."""
    with needs_extra("postgres", "PostgreSQL as the store"):
        import asyncpg  # noqa: F401, PLC0415  # an extra


async def _patiently(action: Callable[[], Awaitable[T]], wait_sec: float) -> T:
    """What the action returns; a database that is not up yet is tried again within the wait."""
    waited = 0.0
    while True:
        try:
            return await action()
        except StoreError as problem:
            if problem.reason not in STORE_AWAY or waited >= wait_sec:
                raise
        await asyncio.sleep(_AGAIN_SEC)
        waited += _AGAIN_SEC
