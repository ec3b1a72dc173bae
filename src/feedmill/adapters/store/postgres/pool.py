"""Connections to PostgreSQL, what its errors mean to us, and its clock.

Every piece of work is one transaction on a connection that is given back at once, so that a pooler in
transaction mode may stand between: no session locks, no LISTEN, no temporary tables, no settings that
outlive a transaction. With `pooled` no statement is prepared beyond its transaction either.

A transaction that PostgreSQL ends for its own reasons (a deadlock, a conflict of snapshots, a server
that is restarted between two of ours) is repeated from its beginning: what is passed in decides from
what it reads, and nothing of a transaction that failed was written.

The clock of all workers is the database's, carried forward by this machine's monotonic clock. Leases, due times and pauses are compared by many machines, whose wall clocks do not agree. So the
database says what time it is. Asking takes a moment: its answer is taken to hold for the middle of
the round trip, the quickest of a few is believed, and in between the monotonic clock counts on.
"""

import asyncio
import errno
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final, Self, TypeAlias, TypeVar

import asyncpg
import msgspec
from asyncpg.connect_utils import SessionAttribute
from asyncpg.pool import Pool, PoolConnectionProxy

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.tables.codec import instant
from feedmill.engine.ports.io import Clock
from feedmill.errors import CORRUPT, DAMAGE, DAMAGE_HINT, DAMAGED_ROW, StoreError
from feedmill.observe.log import database_address

T = TypeVar("T")

# Its pool logs a traceback whenever it cannot connect in the background; our next statement meets and reports the same.
logging.getLogger("asyncpg").setLevel(logging.CRITICAL + 1)

PgConnection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
ConnectionJob: TypeAlias = Callable[[PgConnection], Awaitable[T]]

_TRIES: Final = 8  # of one transaction; a deadlock is won by the second or third
_FIRST_WAIT_SEC: Final = 0.01
_IDLE_SEC: Final = 60.0  # a connection that was idle for so long is closed
_AGAIN: Final = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.StatementCompletionUnknownError,
)
# What a connection says that the server has ended and that has not noticed it yet. Nothing was sent.
_LEFT: Final = asyncpg.InternalClientError
# No way to the primary: what was reached takes no writes, or nothing was reached that does.
_ASTRAY: Final = (asyncpg.ReadOnlySQLTransactionError, asyncpg.TargetServerAttributeNotMatched)
_AWAY: Final = (
    OSError,
    _LEFT,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    *_ASTRAY,  # a primary that became a standby: another one answers soon
)
# Nothing was migrated, or a dump is being restored: first tables are missing, then their rows and keys.
_NO_SCHEMA: Final = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedFunctionError,
    asyncpg.InvalidColumnReferenceError,
)
NO_SCHEMA: Final = (
    "no-schema",
    "tables of feedmill are missing; run `feedmill migrate`, or wait for the end of a restore",
)
_ESCAPES: Final = (
    "a port is a number up to 65535, and in a password : is written %3A, / %2F, ? %3F, # %23, @ %40"
)
_PORT: Final = re.compile(
    "[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
)
_WORDS: Final = 300  # of an error, in ours: a value may be as long as a document

_ROUND_TRIPS: Final = 5
_EVERY_SEC: Final = 30.0  # two clocks of the worst quality are three milliseconds apart by then
# What is less is an error of measuring; time then stands still until it is caught up with.
_STEP: Final = timedelta(seconds=1)


class Database:
    """A pool of connections to one PostgreSQL; made by `open`, ended by `close`."""

    def __init__(self, pool: "Pool[asyncpg.Record]", name: str, *, timeout_sec: float) -> None:
        self._pool, self.name, self._timeout_sec = pool, name, timeout_sec
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        connections: int,
        timeout_sec: float,
        statement_sec: float | None = None,
        pooled: bool = False,
    ) -> Self:
        """Connect, and say clearly why not; a statement has the same time unless `statement_sec` says otherwise."""
        name = database_address(url)
        if _is_torn(url):
            message = f"{name}: this address cannot be read; {_ESCAPES}"
            raise StoreError(message, reason="bad-address")
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=connections,
                timeout=timeout_sec,
                command_timeout=timeout_sec if statement_sec is None else statement_sec,
                max_inactive_connection_lifetime=_IDLE_SEC,
                statement_cache_size=0 if pooled else 256,
                target_session_attrs=_wanted_of(url),
                server_settings={} if pooled else {"application_name": "feedmill"},
                reset=_nothing,
            )
        except ValueError as error:
            raise store_error(error, name) from None  # it quotes the address
        except _STRANGE as error:
            raise store_error(error, name) from error
        return cls(pool, name, timeout_sec=timeout_sec)

    async def close(self) -> None:
        """End every connection, those at work after their transaction."""
        self._closed = True
        try:
            async with asyncio.timeout(self._timeout_sec):
                await self._pool.close()
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._pool.terminate()

    async def write(self, job: ConnectionJob[T]) -> T:
        """What the job returned, in one transaction that is committed by then."""
        return await self.read(lambda c: _transact(c, job, "read_committed", readonly=False))

    async def look(self, query: ConnectionJob[T]) -> T:
        """What the query returned: one state of the database, however many statements it has."""
        return await self.read(lambda c: _transact(c, query, "repeatable_read", readonly=True))

    async def read(self, query: ConnectionJob[T]) -> T:
        """What a query of one statement returned."""
        wait = _FIRST_WAIT_SEC
        for tries_left in reversed(range(_TRIES)):
            try:
                async with self._connection() as connection:
                    return await query(connection)
            except _STRANGE as error:
                if not tries_left or not _is_worth_another(error, self):
                    raise store_error(error, self.name) from error
            await asyncio.sleep(wait)
            wait *= 2
        raise AssertionError

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[PgConnection]:
        if self._closed:
            message = f"{self.name}: the store is closed"
            raise StoreError(message, reason="closed")
        async with self._pool.acquire(timeout=self._timeout_sec) as connection:
            try:
                yield connection
            except (asyncpg.InternalClientError, *_ASTRAY):
                # The server closed it while it was idle, or it is not the primary any more:
                # it is not to be asked anything more.
                connection.terminate()
                raise


class LostCommitError(Exception):
    """The connection broke during a commit: it is unknown whether the transaction was committed.

    `value` is what its job returned: a caller that can see in the database whether it counts may use it.
    """

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


def store_error(error: BaseException, name: str) -> StoreError:
    """The error in our words, with a stable reason."""
    if isinstance(error, StoreError):
        return error
    reason, advice = _reason_of(error)
    said = ": ".join(filter(None, (type(error).__name__, _words_of(error))))
    hint = DAMAGE_HINT if reason in DAMAGE else ""
    return StoreError(f"{name}: {advice} ({said})", reason=reason, hint=hint)


def _is_torn(url: str) -> bool:
    """True when a password has taken the place of a host, a port or a database: it has a / or a ?."""
    authority, path = re.split("[/?#]", f"{url.partition('://')[2]}/", maxsplit=1)
    ports = re.findall(r":([^:,\]]+)(?=,|$)", authority.rpartition("@")[2])
    return "@" in re.split("[?#]", path, maxsplit=1)[0] or not all(map(_PORT.fullmatch, ports))


def _wanted_of(url: str) -> SessionAttribute | None:
    """Of several hosts the one that takes writes, unless the address says which itself."""
    hosts = url.rpartition("@")[2].partition("/")[0]
    is_open = "," in hosts and "target_session_attrs" not in url
    return SessionAttribute.read_write if is_open else None


async def _transact(
    connection: PgConnection,
    job: ConnectionJob[T],
    isolation: Any,  # noqa: ANN401  # asyncpg's literal
    *,
    readonly: bool,
) -> T:
    """One transaction; a commit whose answer was lost is never repeated blindly."""
    transaction = connection.transaction(isolation=isolation, readonly=readonly)
    await transaction.start()
    try:
        value = await job(connection)
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    if not readonly:
        reach("pg-write")
    try:
        await transaction.commit()
    except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError) as error:
        if readonly:
            raise
        raise LostCommitError(value) from error
    if not readonly:
        reach("pg-written")
    return value


def _is_worth_another(error: BaseException, database: Database) -> bool:
    """A conflict with others, at once; a broken connection too, for the pool has others."""
    if isinstance(error, _AGAIN):
        return True
    if isinstance(error, asyncpg.InterfaceError):
        return "connection" in str(error) and not database._closed  # noqa: SLF001  # the same module
    return isinstance(error, asyncpg.PostgresConnectionError | asyncpg.AdminShutdownError | _LEFT)


def _words_of(error: BaseException) -> str:
    """What an error says, without the values that it quotes: they may be secrets, or documents."""
    if isinstance(error, msgspec.DecodeError):
        return str(error)
    if isinstance(error, ValueError):  # of an address that cannot be read, which has a password
        return ""
    said = str(error).partition("\nDETAIL")[0]
    if isinstance(error, asyncpg.DataError) and "query argument" in said:
        said = said.partition(":")[0]
    return " ".join(said.split())[:_WORDS]


def _reason_of(error: BaseException) -> tuple[str, str]:
    if isinstance(
        error, asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError
    ):
        return "no-access", "the database does not let us in; check user and password"
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return "no-database", "there is no such database; create it first (createdb)"
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return "no-access", "the user may not do this; grant it the rights, or use another"
    if isinstance(error, _NO_SCHEMA):
        return NO_SCHEMA
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError) or _is_bad_json(error):
        return DAMAGED_ROW, "a row cannot be read"
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return CORRUPT, "the database is damaged; restore it from a copy"
    if isinstance(error, asyncpg.DiskFullError):
        return "disk-full", "the database's disk is full; free some space, nothing was lost"
    if isinstance(error, (TimeoutError, asyncpg.QueryCanceledError, *_AGAIN)):
        return "busy", "the database is busy; nothing was written, it is tried again"
    if isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.EACCES):
        return "cannot-open", "no database answers there; check the address"
    if isinstance(error, (*_AWAY, LostCommitError)):
        return "cannot-open", "no database answers there; check host and port, and that it is up"
    if isinstance(error, ValueError):
        return "bad-address", "this is no address of a database; use postgresql://user@host/name"
    return "failed", "this is a fault in feedmill"


def _is_bad_json(error: BaseException) -> bool:
    """A stored text that is no JSON, where a statement looks into it."""
    bad = asyncpg.InvalidTextRepresentationError
    return isinstance(error, bad) and "type json" in str(error)


async def _nothing(_: object) -> None:
    """What a connection needs before it is given back: every transaction has ended by itself."""


_STRANGE: Final = (
    _LEFT,
    msgspec.DecodeError,
    UnicodeDecodeError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
    LostCommitError,
)


class DatabaseClock:
    """Implements `engine.ports.io.Clock`; what `local` says of the wall is used for ids only."""

    def __init__(self, local: Clock) -> None:
        self._local = local
        self.monotonic, self.sleep = local.monotonic, local.sleep
        self.new_id, self.new_secret = local.new_id, local.new_secret
        self._zero: datetime | None = None  # the database's time when the monotonic clock was at 0
        self._latest: datetime | None = None  # what was said last

    async def follow(self, database: Database) -> None:
        """Ask the database what time it is."""
        self._zero = await database.read(self._measure)

    async def keep_following(self, database: Database, *, every_sec: float = _EVERY_SEC) -> None:
        """Ask again and again until cancelled; while the database is away, the last answer holds."""
        while True:
            try:
                await self.follow(database)
            except StoreError as problem:
                if problem.reason == "closed":
                    raise
            await self._local.sleep(every_sec)

    def now(self) -> datetime:
        """The database's instant; never earlier than the last, unless its clock was set back."""
        if self._zero is None:
            return self._local.now()
        at = self._zero + timedelta(seconds=self._local.monotonic())
        if self._latest is None or not at <= self._latest < at + _STEP:
            self._latest = at
        return self._latest

    async def _measure(self, connection: PgConnection) -> datetime:
        found = [await self._round_trip(connection) for _ in range(_ROUND_TRIPS)]
        return min(found)[1]

    async def _round_trip(self, connection: PgConnection) -> tuple[float, datetime]:
        """How long an answer took, and the database's time at the zero of our monotonic clock."""
        began = self._local.monotonic()
        micros = await connection.fetchval("SELECT feedmill_now()")
        ended = self._local.monotonic()
        return ended - began, instant(micros) - timedelta(seconds=(began + ended) / 2)
