"""Retention of fetches and events on PostgreSQL: days and millions go as a whole when they can.

The rest goes row by row, in small transactions that pass by what a refresh holds (`tables/purge.py`).
"""
# Tested in tests/integration/adapters/store/postgres/test_partitions.py

from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from feedmill.adapters.store.postgres import partitions
from feedmill.adapters.store.postgres.partitions import Partition, PartitionBusyError
from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, PgConnection
from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.contents.tombstones import LOOK_SEC
from feedmill.adapters.store.tables.purge import PURGE_BATCH

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


class DroppedEvents(NamedTuple):
    """How many events went with their partitions, and up to which number every reader has read."""

    events: int
    free: int
    is_busy: bool = False


async def purge_fetches(database: Database, day_before: datetime) -> int:
    """Whole days where next to nothing must stay; elsewhere row by row."""
    before, gone, droppable = micros(day_before), 0, True
    for day in await database.read(partitions.fetch_partitions):
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
    await partitions.lock_writers_out(connection, day)
    staying = await connection.fetch(
        f"SELECT x.feed_no, x.scheduled_at FROM {day.name} x WHERE {_STAYS} LIMIT $2",
        before,
        MOST_KEPT + 1,
        timeout=LOOK_SEC,
    )
    if len(staying) > MOST_KEPT:
        return None
    count = await connection.fetchval(f"SELECT count(*) FROM {day.name}", timeout=LOOK_SEC)
    await partitions.drop_partition(
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
    for piece in await database.read(partitions.event_partitions):
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
    await partitions.drop_partition(connection, piece, "")
    return int(count)
