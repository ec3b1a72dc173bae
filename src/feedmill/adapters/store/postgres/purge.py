"""Retention and health: what may go, what must stay, and what is wrong (D13).

The same rules as on one file. Days of fetches and millions of events go as a whole when they can, and
row by row otherwise; all of it in small bites that pass by what a refresh holds at that moment, so
that a purge blocks no other work. Several processes may purge at once: each row goes once.
"""
# Tested in tests/integration/adapters/store/postgres/test_partitions.py

from datetime import datetime
from functools import partial
from typing import Any, Final

from feedmill.adapters.store.postgres import partitions
from feedmill.adapters.store.postgres.partitions import Partition, PartitionBusyError
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import Row, micros
from feedmill.adapters.store.tables.subscriptions.fetches import UNUSED_BLOCK
from feedmill.model.running.storage import PurgeCuts

PURGE_BATCH: Final = 1_000  # rows of one transaction
MOST_KEPT: Final = 5_000  # rows of a day that are put aside, so that the day can be dropped

_LOOK_SEC: Final = 600.0  # a day of a big mill is read through once before it is dropped
_OLD_ENTRIES: Final = (
    "SELECT entry_id FROM entries WHERE entry_id > $1 AND in_document = 0 AND backfill = 0 AND last_seen < $2"
    " ORDER BY entry_id LIMIT $3"
)
# Feeds first, then entries, by their numbers: the order in which all transactions lock. Who is being
# refreshed is passed by, and an entry that was seen meanwhile is not old any more.
_LOCK_FEEDS: Final = (
    "SELECT feed_no FROM feeds WHERE feed_no IN"
    " (SELECT feed_no FROM entries WHERE entry_id = ANY($1::bigint[]))"
    " ORDER BY feed_no FOR KEY SHARE SKIP LOCKED"
)
_BURY: Final = """
WITH old AS (
  SELECT entry_id FROM entries
   WHERE entry_id = ANY($1::bigint[]) AND feed_no = ANY($2::bigint[])
     AND in_document = 0 AND backfill = 0 AND last_seen < $3
   ORDER BY entry_id FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM entries e USING old WHERE e.entry_id = old.entry_id RETURNING e.*)
INSERT INTO tombstones (entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count, revisions,
                        removed_at, guid, canonical_link, title_hash, item_hash, article_hash,
                        expired_at)
SELECT entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count, revisions, removed_at, guid,
       canonical_link, title_hash, item_hash, article_hash, $4 FROM gone
"""
# A fetch whose body is still kept stays with it; so do the last one and the document's own. Those of
# a feed that is gone do not.
_STAYS: Final = (
    "(x.fetched_at >= $1"
    " OR EXISTS (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no"
    " AND (x.fetch_id = f.document_fetch_id OR x.fetched_at = f.last_fetch_at))"
    " OR EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = x.body_sha256)"
    " AND EXISTS (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no))"
)
_OLD_BLOCKS: Final = (
    f"SELECT h.block_id FROM header_blocks h WHERE h.block_id > $1 AND {UNUSED_BLOCK}"
    " ORDER BY h.block_id LIMIT $2"
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
# Only from the beginning of the log, up to the first event that is young: processes number their
# events by commit, so an old one may stand behind a young one, and the log would have a hole.
_OLD_EVENTS: Final = (
    "WITH first AS (SELECT seq, occurred_at FROM events WHERE seq > $4"
    " ORDER BY seq LIMIT $3),"
    " young AS (SELECT min(seq) AS seq FROM first WHERE occurred_at >= $2 OR seq > $1)"
    " SELECT first.seq FROM first, young WHERE first.seq < young.seq OR young.seq IS NULL"
)
# A document of a collected window goes with its body, which is kept for an age of its own.
_OLD_COLLECTED: Final = (
    "DELETE FROM collected_documents WHERE collected_no IN"
    " (SELECT c.collected_no FROM collected_documents c WHERE c.fetched_at < $1"
    " AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = c.body_sha256)"
    " ORDER BY c.collected_no LIMIT $2 FOR UPDATE SKIP LOCKED)"
)
_FREE_LANES: Final = (
    "SELECT lane_id FROM lanes l WHERE owner IS NULL AND coalesce(next_ok_at, 0) < $1"
    " AND NOT EXISTS (SELECT 1 FROM feed_sched s WHERE s.lane_id = l.lane_id)"
    " ORDER BY lane_id LIMIT $2 FOR UPDATE SKIP LOCKED"
)
_EMPTY_LANES: Final = (
    "DELETE FROM lanes l WHERE lane_id = ANY($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM feed_sched s WHERE s.lane_id = l.lane_id)"
)


async def purge(
    database: Database, *, before: datetime, now: datetime, cuts: PurgeCuts | None = None
) -> dict[str, int]:
    """Let go of what was last seen before, or before the cut of its kind; how much of each kind went.

    In this order: header blocks are free once their fetches are gone.
    """
    await partitions.ensure_partitions(database, now)
    old, present = micros(before), micros(now)
    old_fetches = old if cuts is None else micros(cuts.fetches)
    old_events = old if cuts is None else micros(cuts.events)
    unread = 0 if cuts is None else micros(cuts.unread_events)
    return {
        "entries": await _purge_entries(database, old, present),
        "fetches": await _purge_fetches(database, old_fetches),
        "headers": await _purge_headers(database),
        "events": await _purge_events(database, old_events, unread),
        "collected": await _until_none(database, _OLD_COLLECTED, old),
        "lanes": await _purge_lanes(database, present),
    }


async def _purge_entries(database: Database, before: int, now: int) -> int:
    gone, after = 0, -1
    while ids := await _ids(database, _OLD_ENTRIES, after, before, PURGE_BATCH):
        gone += await database.write(partial(_bury, ids=ids, before=before, now=now))
        after = ids[-1]
    return gone


async def _bury(connection: PgConnection, ids: list[int], before: int, now: int) -> int:
    """Leave a tombstone for each entry that is still old."""
    feeds = [row[0] for row in await connection.fetch(_LOCK_FEEDS, ids)]
    return _count(await connection.execute(_BURY, ids, feeds, before, now))


async def _purge_fetches(database: Database, before: int) -> int:
    """Whole days where next to nothing must stay; elsewhere row by row."""
    gone, droppable = 0, True
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
        timeout=_LOOK_SEC,
    )
    if len(staying) > MOST_KEPT:
        return None
    count = await connection.fetchval(f"SELECT count(*) FROM {day.name}", timeout=_LOOK_SEC)
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
        gone += await _execute(database, forget, before, feeds, runs)
        feed_no, scheduled_at = feeds[-1], runs[-1]
    return gone


async def _purge_headers(database: Database) -> int:
    gone, after = 0, -1
    statement = (
        f"DELETE FROM header_blocks h WHERE h.block_id = ANY($1::bigint[]) AND {UNUSED_BLOCK}"
    )
    while ids := await _ids(database, _OLD_BLOCKS, after, PURGE_BATCH):
        gone += await _execute(database, statement, ids)
        after = ids[-1]
    return gone


async def _purge_events(database: Database, before: int, unread: int) -> int:
    """Millions from the beginning of the log, then events from the beginning of the next one."""
    free = int(await database.read(lambda c: c.fetchval(_FREE, unread, timeout=_LOOK_SEC)))
    gone = 0
    for piece in await database.read(partitions.event_partitions):
        try:
            dropped = await database.write(
                partial(_drop_piece, piece=piece, free=free, before=before)
            )
        except PartitionBusyError:
            return gone
        if dropped is None:
            break
        gone += dropped
    statement = "DELETE FROM events WHERE seq = ANY($1::bigint[])"
    after = 0
    while ids := await _ids(database, _OLD_EVENTS, free, before, PURGE_BATCH, after):
        gone += await _execute(database, statement, ids)
        after = ids[-1]
    return gone


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


async def _purge_lanes(database: Database, now: int) -> int:
    """Forget hosts that have no feeds any more and asked for no patience."""
    gone = 0
    while True:
        looked_at, dropped = await database.write(lambda c: _drop_lanes(c, now))
        gone += dropped
        if looked_at < PURGE_BATCH:
            return gone


async def _drop_lanes(connection: PgConnection, now: int) -> tuple[int, int]:
    """Lock first, then look again: a feed may have come to the lane between the two."""
    ids = [row[0] for row in await connection.fetch(_FREE_LANES, now, PURGE_BATCH)]
    return len(ids), _count(await connection.execute(_EMPTY_LANES, ids))


async def _until_none(database: Database, statement: str, before: int) -> int:
    gone = 0
    while True:
        bite = await _execute(database, statement, before, PURGE_BATCH)
        gone += bite
        if bite < PURGE_BATCH:
            return gone


async def _ids(database: Database, statement: str, *arguments: int) -> list[int]:
    """The next bite, in the order of its numbers."""
    return [row[0] for row in await _find(database, statement, *arguments)]


async def _find(database: Database, statement: str, *arguments: int) -> list[Row]:
    """What there is to let go; it may look long, and blocks no other work."""
    rows = await database.read(lambda c: c.fetch(statement, *arguments, timeout=_LOOK_SEC))
    return [tuple(row) for row in rows]


async def _execute(database: Database, statement: str, *arguments: Any) -> int:  # noqa: ANN401  # of SQL
    """How many rows the statement touched."""
    return _count(await database.write(lambda c: c.execute(statement, *arguments)))


def _count(status: str) -> int:
    """How many rows it were: the last word of what PostgreSQL says."""
    return int(status.rpartition(" ")[2])
