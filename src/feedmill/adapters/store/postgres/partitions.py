"""Days of fetches and millions of events: made ahead, and dropped as a whole when they are old.

`fetches` has a partition for each day of `scheduled_at`, `events` one for each million numbers. What
falls outside (a run of long ago, a housekeeping that came late) goes into the default partition, and
is moved when its own is made. A new partition is attached, which holds up writers for a moment and
readers of the others not at all. To take one away PostgreSQL needs the whole table for a moment: it is asked for briefly,
and if a long query reads it, the next purge tries again.

Retention drops days and millions as a whole when it can. The rest goes row by row, in small transactions that pass by what a refresh holds (`tables/purge.py`).
"""
# Tested in tests/integration/adapters/store/postgres/test_partitions.py

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import asyncpg
from msgspec import Struct

from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, PgConnection
from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.purge import LOOK_SEC, PURGE_BATCH

EVENTS_EACH: Final = 1_000_000  # numbers of one partition of the log
DAYS_AHEAD: Final = 7

_DAY: Final = 86_400_000_000  # microseconds
_LOCK: Final = 7_305_809_110_283_981_926  # the neighbour of the migrations' one
_PATIENCE: Final = "SET LOCAL lock_timeout = '250ms'"
_EPOCH: Final = date(1970, 1, 1)
_NAMES: Final = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
 WHERE i.inhparent = $1::text::regclass ORDER BY c.relname COLLATE "C"
"""

MOST_KEPT: Final = 5_000  # rows of a day that are put aside, so that the day can be dropped

# A fetch whose body is still kept stays with it; so do the last one and the document's own. Those of
# a feed that is gone do not.
_STAYS: Final = (
    "(x.fetched_at >= $1"
    " OR EXISTS (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no"
    " AND (x.fetch_id = f.document_fetch_id OR x.fetched_at = f.last_fetch_at))"
    " OR EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = x.body_sha256)"
    " AND EXISTS (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no))"
)
# The newest event stays whatever its age. A webhook that is paused does not hold the log up, or one
# that is gone would do so for ever; nor does a reader of events older than $1. Without a cursor the age alone decides.
_FREE: Final = (
    "SELECT least(h.seq - 1, greatest("
    " coalesce((SELECT min(seq) FROM consumer_cursors WHERE consumer NOT IN"
    " (SELECT 'webhook:' || id FROM webhooks WHERE state = 'paused')), h.seq),"
    " coalesce((SELECT seq - 1 FROM events WHERE occurred_at >= $1 ORDER BY seq LIMIT 1), h.seq)))"
    " FROM log_head h"
)


class Partition(Struct, frozen=True):
    """A part of a table: the rows whose key is at least `low` and below `high`."""

    table: str
    name: str
    key: str
    low: int
    high: int


def fetch_partition(day: int) -> Partition:
    """The partition of the n-th day since 1970."""
    name = f"fetches_{_EPOCH + timedelta(days=day):%Y%m%d}"
    return Partition("fetches", name, "scheduled_at", day * _DAY, (day + 1) * _DAY)


def event_partition(number: int) -> Partition:
    """The partition of the n-th million of events."""
    low = number * EVENTS_EACH
    return Partition("events", f"events_{number:06d}", "seq", low, low + EVENTS_EACH)


async def ensure_partitions(database: Database, now: datetime) -> int:
    """Make the partitions of the days and numbers to come; how many were missing.

    Any number of processes may do it at once. When the tables are another user's, or a transaction holds
    them for long, nothing is made: the default partitions take what comes.
    """
    if not await database.read(lambda c: _missing(c, now)):
        return 0
    try:
        return await database.write(lambda c: _make_missing(c, now))
    except PartitionBusyError:
        return 0


async def create_partitions(database: Database, wanted: Sequence[Partition]) -> int:
    """Make these partitions where they are missing, before rows come in bulk; how many were made."""
    made = 0
    for partition in wanted:
        try:
            made += await _make_one(database, partition)
        except PartitionBusyError:  # the default partition takes its rows
            continue
    return made


async def fetch_partitions(connection: PgConnection) -> tuple[Partition, ...]:
    """The partitions of fetches but for the default one, the oldest day first."""
    names = [row[0] for row in await connection.fetch(_NAMES, "fetches")]
    found = [re.fullmatch("fetches_([0-9]{8})", name) for name in names]
    dates = [datetime.strptime(one[1], "%Y%m%d").replace(tzinfo=UTC) for one in found if one]
    return tuple(fetch_partition(micros(midnight) // _DAY) for midnight in sorted(dates))


async def event_partitions(connection: PgConnection) -> tuple[Partition, ...]:
    """The partitions of the log but for the default one, the lowest numbers first."""
    names = [row[0] for row in await connection.fetch(_NAMES, "events")]
    found = [re.fullmatch("events_([0-9]{6,})", name) for name in names]
    return tuple(event_partition(number) for number in sorted(int(one[1]) for one in found if one))


async def lock_writers_out(connection: PgConnection, partition: Partition) -> None:
    """Block writes into a partition until the transaction ends; reading goes on."""
    await _patiently(connection, f"LOCK TABLE {partition.name} IN SHARE MODE")


async def drop_partition(
    connection: PgConnection, partition: Partition, staying: str, *keys: object
) -> None:
    """Take a partition away; the rows that `staying` selects from it go into the default one."""
    await _patiently(connection, f"ALTER TABLE {partition.table} DETACH PARTITION {partition.name}")
    if staying:
        await connection.execute(f"INSERT INTO {partition.table} {staying}", *keys)
    await connection.execute(f"DROP TABLE {partition.name}")


class PartitionBusyError(Exception):
    """The tables are in use, or not ours to change: left for the next time."""


async def _missing(connection: PgConnection, now: datetime) -> list[Partition]:
    """Those that should be there and are not: a handful of names, looked up in the catalogue."""
    there = {
        one.name
        for one in (*await fetch_partitions(connection), *await event_partitions(connection))
    }
    wanted = [*_days_around(now), *await _pieces_around(connection)]
    return [one for one in wanted if one.name not in there]


def _days_around(now: datetime) -> Sequence[Partition]:
    today = micros(now) // _DAY
    return [fetch_partition(day) for day in range(today - 1, today + DAYS_AHEAD + 1)]


async def _pieces_around(connection: PgConnection) -> Sequence[Partition]:
    """The present million, the next, and those that the default partition holds rows of."""
    rows = await connection.fetch(
        "SELECT seq / $1 AS piece FROM log_head UNION SELECT seq / $1 + 1 FROM log_head"
        " UNION SELECT seq / $1 FROM events_other ORDER BY 1",
        EVENTS_EACH,
    )
    return [event_partition(row[0]) for row in rows]


async def _make_missing(connection: PgConnection, now: datetime) -> int:
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    missing = await _missing(connection, now)
    for partition in missing:
        await _make(connection, partition)
    return len(missing)


async def _make_one(database: Database, partition: Partition) -> bool:
    async def make(connection: PgConnection) -> bool:
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", partition.name):
            return False
        await _make(connection, partition)
        return True

    return await database.write(make)


async def _make(connection: PgConnection, partition: Partition) -> None:
    """A table of its own first: attached with its rows, it holds up no reader of the others.

    Writers wait outside: one that had chosen the default partition would be refused there.
    """
    table, name, key = partition.table, partition.name, partition.key
    within = f"{key} >= {partition.low} AND {key} < {partition.high}"
    await _patiently(connection, f"LOCK TABLE ONLY {table} IN SHARE ROW EXCLUSIVE MODE")
    await _patiently(connection, f"LOCK TABLE {table}_other IN ACCESS EXCLUSIVE MODE")
    await _patiently(
        connection,
        f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS"
        " INCLUDING INDEXES)",
    )
    await connection.execute(
        f"WITH moved AS (DELETE FROM {table}_other WHERE {within} RETURNING *)"
        f" INSERT INTO {name} SELECT * FROM moved"
    )
    await _patiently(
        connection,
        f"ALTER TABLE {table} ATTACH PARTITION {name}"
        f" FOR VALUES FROM ({partition.low}) TO ({partition.high})",
    )


async def _patiently(connection: PgConnection, statement: str) -> None:
    """Do what needs a lock that others feel, or give up soon."""
    await connection.execute(_PATIENCE)
    try:
        await connection.execute(statement)
    except (
        asyncpg.LockNotAvailableError,
        asyncpg.InsufficientPrivilegeError,
        asyncpg.UndefinedTableError,  # another process dropped it meanwhile
    ) as error:
        raise PartitionBusyError from error
    await connection.execute("SET LOCAL lock_timeout = DEFAULT")


class DroppedEvents(NamedTuple):
    """How many events went with their partitions, and up to which number every reader has read."""

    events: int
    free: int
    is_busy: bool = False


async def purge_fetches(database: Database, day_before: datetime) -> int:
    """Whole days where next to nothing must stay; elsewhere row by row."""
    before, gone, droppable = micros(day_before), 0, True
    for day in await database.read(fetch_partitions):
        if day.high > before:
            gone += await _thin(database, day.name, before)
        elif droppable:
            try:
                dropped = await database.write(partial(_drop_day, day=day, before=before))
            except PartitionBusyError:
                droppable = False  # what blocks one day blocks all of them
                continue
            gone += await _thin(database, day.name, before) if dropped is None else dropped
    return gone + await _thin(database, "fetches_other", before)


async def _drop_day(connection: PgConnection, day: Partition, before: int) -> int | None:
    """Drop a day, having put aside what must stay; None when that is too much."""
    await lock_writers_out(connection, day)
    staying = await connection.fetch(
        f"SELECT x.feed_no, x.scheduled_at FROM {day.name} x WHERE {_STAYS} LIMIT $2",
        before,
        MOST_KEPT + 1,
        timeout=LOOK_SEC,
    )
    if len(staying) > MOST_KEPT:
        return None
    count = await connection.fetchval(f"SELECT count(*) FROM {day.name}", timeout=LOOK_SEC)
    await drop_partition(
        connection,
        day,
        f"SELECT x.* FROM {day.name} x JOIN unnest($1::bigint[], $2::bigint[])"
        " AS k (feed_no, scheduled_at) USING (feed_no, scheduled_at)",
        [row[0] for row in staying],
        [row[1] for row in staying],
    )
    return int(count) - len(staying)


async def _thin(database: Database, table: str, before: int) -> int:
    """Let old rows of one partition go, in the order of its key."""
    gone, feed_no, scheduled_at = 0, -1, -1
    find = (
        f"SELECT x.feed_no, x.scheduled_at FROM {table} x"
        f" WHERE NOT {_STAYS} AND (x.feed_no, x.scheduled_at) > ($2, $3)"
        " ORDER BY x.feed_no, x.scheduled_at LIMIT $4"
    )
    forget = (
        f"DELETE FROM {table} x USING unnest($2::bigint[], $3::bigint[]) AS k (feed_no, at)"
        f" WHERE x.feed_no = k.feed_no AND x.scheduled_at = k.at AND NOT {_STAYS}"
    )
    while rows := await _find(database, find, before, feed_no, scheduled_at, PURGE_BATCH):
        feeds, runs = [row[0] for row in rows], [row[1] for row in rows]
        status = await database.write(_execution(forget, before, feeds, runs))
        gone += int(status.rpartition(" ")[2])
        feed_no, scheduled_at = feeds[-1], runs[-1]
    return gone


async def _find(database: Database, statement: str, *arguments: int) -> list[Any]:
    """What there is to delete; it may look long, and blocks no other work."""
    return await database.read(lambda c: c.fetch(statement, *arguments, timeout=LOOK_SEC))


def _execution(statement: str, *arguments: Any) -> ConnectionJob[str]:  # noqa: ANN401  # of SQL
    return lambda connection: connection.execute(statement, *arguments)


async def drop_pieces(database: Database, before: datetime, unread: datetime) -> DroppedEvents:
    """Drop millions from the beginning of the log."""
    free = int(await database.read(lambda c: c.fetchval(_FREE, micros(unread), timeout=LOOK_SEC)))
    gone = 0
    for piece in await database.read(event_partitions):
        try:
            dropped = await database.write(
                partial(_drop_piece, piece=piece, free=free, before=micros(before))
            )
        except PartitionBusyError:
            return DroppedEvents(gone, free, is_busy=True)
        if dropped is None:
            break
        gone += dropped
    return DroppedEvents(gone, free)


async def _drop_piece(
    connection: PgConnection, piece: Partition, free: int, before: int
) -> int | None:
    """Drop a million of events that every consumer has read; None when some of them must stay."""
    if piece.high > free + 1:
        return None
    young = f"SELECT 1 FROM {piece.name} WHERE occurred_at >= $1 LIMIT 1"
    earlier = "SELECT 1 FROM events WHERE seq < $1 LIMIT 1"
    if await connection.fetchval(young, before) or await connection.fetchval(earlier, piece.low):
        return None
    count = await connection.fetchval(f"SELECT count(*) FROM {piece.name}")
    await drop_partition(connection, piece, "")
    return int(count)
