"""Retention: deletes what is old in small transactions (D13).

Content and metadata of entries that were last seen before a day go; an entry in the feed's last
document never does, nor one from its archive; its identities always stay, with a tombstone for them to point at. Work is
done in small bites, so that a purge never holds up a refresh.
"""
# Tested in tests/contracts/store/

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from feedmill.adapters.store.tables.subscriptions.fetches import UNUSED_BLOCK

PURGE_BATCH: Final = 1_000  # rows of one transaction

_OLD_ENTRIES: Final = (
    "SELECT entry_id FROM entries WHERE entry_id > :after AND in_document = 0 AND backfill = 0"
    " AND last_seen < :before ORDER BY entry_id LIMIT :limit"
)
_BURY: Final = (
    "INSERT INTO tombstones SELECT entry_id, entry_uid, feed_no, first_seen, last_seen,"
    " seen_count, revisions, removed_at, guid, canonical_link, title_hash, item_hash,"
    " article_hash, ? FROM entries WHERE entry_id = ? AND in_document = 0 AND backfill = 0 AND last_seen < ?"
)
# A fetch whose body is still kept stays with it; so do the last one and the document's own.
_OLD_FETCHES: Final = (
    "SELECT x.fetch_no FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no"
    " WHERE x.fetch_no > :after AND x.fetched_at < :before"
    " AND x.fetch_id IS NOT f.document_fetch_id AND x.fetched_at IS NOT f.last_fetch_at"
    " AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = x.body_sha256)"
    " ORDER BY x.fetch_no LIMIT :limit"
)
_OLD_BLOCKS: Final = (
    f"SELECT h.block_id FROM header_blocks h WHERE h.block_id > :after AND {UNUSED_BLOCK}"
    " ORDER BY h.block_id LIMIT :limit"
)
# The newest event stays whatever its age: the next number is one more than its own. A webhook that
# is paused does not hold the log up, or one that is gone would do so for ever; nor does a reader that is
# further behind than `held`. Without a cursor the age alone decides. Only the beginning of the log goes, up
# to the first event that stays: an old event may stand behind a young one, and the log has no hole.
_FIRST_KEPT_EVENT: Final = (
    "SELECT y.seq FROM outbox y WHERE y.seq > :after AND (y.occurred_at >= :before"
    " OR (y.occurred_at >= :held AND EXISTS (SELECT 1 FROM consumer_cursors c WHERE c.seq < y.seq"
    " AND c.consumer NOT IN (SELECT 'webhook:' || id FROM webhooks WHERE state = 'paused'))))"
    " ORDER BY y.seq LIMIT 1"
)
_OLD_EVENTS: Final = (
    "SELECT seq FROM outbox WHERE seq > :after AND seq < (SELECT max(seq) FROM outbox)"
    f" AND seq < coalesce(({_FIRST_KEPT_EVENT}), 9223372036854775807) ORDER BY seq LIMIT :limit"
)
# A document of a collected window goes with its body, which is kept for an age of its own.
_OLD_COLLECTED: Final = (
    "SELECT c.collected_no FROM collected_documents c WHERE c.collected_no > :after"
    " AND c.fetched_at < :before"
    " AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = c.body_sha256)"
    " ORDER BY c.collected_no LIMIT :limit"
)
_EMPTY_LANES: Final = (
    "DELETE FROM lanes WHERE owner IS NULL AND coalesce(next_ok_at, 0) < ?"
    " AND lane_id NOT IN (SELECT lane_id FROM feed_sched)"
)


class PurgeBatch(NamedTuple):
    """Some rows to let go of in one transaction, if they are still old."""

    ids: Sequence[int]
    before: int
    now: int


class PurgeKind(NamedTuple):
    """Something that grows old: how to find a bite of it, and how to let that bite go."""

    name: str
    find: str  # :after which number, :before which instant, how many (:limit)
    forget: Callable[[sqlite3.Connection, PurgeBatch], int]


def find_old(
    connection: sqlite3.Connection, kind: PurgeKind, after: int, before: int, held: int
) -> tuple[int, ...]:
    """The next bite, in the order of its numbers; for a reader, because it may look long."""
    cut = {"after": after, "before": before, "held": held, "limit": PURGE_BATCH}
    rows = connection.execute(kind.find, cut)
    return tuple(number for (number,) in rows)


def drop_lanes(connection: sqlite3.Connection, now: int) -> int:
    """Forget hosts that have no feeds any more and asked for no patience."""
    return connection.execute(_EMPTY_LANES, (now,)).rowcount


def _bury(connection: sqlite3.Connection, bite: PurgeBatch) -> int:
    """Leave a tombstone for each entry that is still old: it may have been seen meanwhile."""
    buried = 0
    for entry_id in bite.ids:
        if connection.execute(_BURY, (bite.now, entry_id, bite.before)).rowcount == 1:
            connection.execute("DELETE FROM entries WHERE entry_id = ?", (entry_id,))
            buried += 1
    return buried


def _forget_fetches(connection: sqlite3.Connection, bite: PurgeBatch) -> int:
    return _forget(connection, "DELETE FROM fetches WHERE fetch_no = ?", bite)


def _forget_blocks(connection: sqlite3.Connection, bite: PurgeBatch) -> int:
    return _forget(
        connection, f"DELETE FROM header_blocks AS h WHERE h.block_id = ? AND {UNUSED_BLOCK}", bite
    )


def _forget_events(connection: sqlite3.Connection, bite: PurgeBatch) -> int:
    return _forget(connection, "DELETE FROM outbox WHERE seq = ?", bite)


def _forget_collected(connection: sqlite3.Connection, bite: PurgeBatch) -> int:
    return _forget(connection, "DELETE FROM collected_documents WHERE collected_no = ?", bite)


def _forget(connection: sqlite3.Connection, statement: str, bite: PurgeBatch) -> int:
    return connection.executemany(statement, [(number,) for number in bite.ids]).rowcount


# In this order: header blocks are free once their fetches are gone.
PURGE_KINDS: Final = (
    PurgeKind("entries", _OLD_ENTRIES, _bury),
    PurgeKind("fetches", _OLD_FETCHES, _forget_fetches),
    PurgeKind("headers", _OLD_BLOCKS, _forget_blocks),
    PurgeKind("events", _OLD_EVENTS, _forget_events),
    PurgeKind("collected", _OLD_COLLECTED, _forget_collected),
)
