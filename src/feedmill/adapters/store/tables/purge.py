"""Retention: which rows of each kind are old, and how a batch of them is deleted (D13); table `tombstones`, what is left of entries.

Old rows are found in the order of their numbers and deleted in small transactions, so that a purge never holds up a
refresh: what a refresh has locked is passed by, and what was seen meanwhile is not old any more. Several processes
may purge at once: each row goes once. Fetches and events of PostgreSQL go by partitions (`postgres/partitions.py`).
"""
# Tested in tests/contracts/store/test_purge_cuts.py

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, append_events, column, rows, write
from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.subscriptions.fetches import UNUSED_BLOCK
from feedmill.model.event import NewEvent

PURGE_BATCH: Final = 1_000  # rows of one transaction

LOOK_SEC: Final = 600.0  # all rows are looked at, and nothing waits for it
# How much of a general quota the feed `f` has; NULL: it has none.
QUOTA_OF_FEED: Final = (
    "nullif(coalesce(CAST(@field(f.overrides, quota) AS double precision), 1), 0)"
)


class Cut(NamedTuple):
    """Rows from before this instant may go. Events from `held` on stay until they are read: an instant, on PostgreSQL a number."""

    before: datetime
    now: datetime | None = None
    held: datetime | int = 0


class PurgeKind(NamedTuple):
    """Something that grows old: how to find a batch of it after a number, and how to delete that batch."""

    find: Callable[[int, Cut], Query[list[int]]]
    delete: Callable[[Sequence[int], Cut], Query[int]]


def _found(statement: str, *names: str) -> Callable[[int, Cut], Query[list[int]]]:
    """Finds numbers after $1, at most $2 of them; the parameters behind are these fields of the cut."""

    def find(after: int, cut: Cut) -> Query[list[int]]:
        given = (getattr(cut, name) for name in names)
        return sql.column(statement, after, PURGE_BATCH, *given, timeout_sec=LOOK_SEC)

    return find


def _deleted(statement: str, *names: str) -> Callable[[Sequence[int], Cut], Query[int]]:
    """Deletes the rows with the numbers $1; the parameters behind are these fields of the cut."""

    def delete(ids: Sequence[int], cut: Cut) -> Query[int]:
        return sql.write(statement, list(ids), *(getattr(cut, name) for name in names))

    return delete


_BURIED: Final = (
    "entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count, revisions, removed_at, guid,"
    " canonical_link, title_hash, item_hash, article_hash"
)


def _bury(ids: Sequence[int], cut: Cut) -> Query[int]:
    """Leave a tombstone for each entry that is still old; its identities stay and point at it.

    Feeds first, then entries, by their numbers: the order in which all transactions lock. A feed that is being
    refreshed is passed by.
    """
    feeds = yield from sql.column(
        "SELECT feed_no FROM feeds WHERE feed_no IN (SELECT feed_no FROM entries WHERE entry_id @in($1))"
        " ORDER BY feed_no @lock(FOR KEY SHARE SKIP LOCKED)",
        list(ids),
    )
    old = yield from sql.column(
        "SELECT entry_id FROM entries WHERE entry_id @in($1) AND feed_no @in($2) AND in_document = 0"
        " AND backfill = 0 AND last_seen < $3 ORDER BY entry_id @lock(FOR UPDATE SKIP LOCKED)",
        list(ids),
        feeds,
        cut.before,
    )
    yield from sql.write(
        f"INSERT INTO tombstones ({_BURIED}, expired_at) SELECT {_BURIED}, CAST($2 AS bigint)"
        " FROM entries WHERE entry_id @in($1)",
        old,
        cut.now,
    )
    return (yield from sql.write("DELETE FROM entries WHERE entry_id @in($1)", old))


def _drop_lanes(ids: Sequence[int], cut: Cut) -> Query[int]:
    """Lock first, then look again: a feed may have come to the lane between the two."""
    free = yield from sql.column(
        "SELECT lane_id FROM lanes WHERE lane_id @in($1) AND owner IS NULL AND coalesce(next_ok_at, 0) < $2"
        " ORDER BY lane_id @lock(FOR UPDATE SKIP LOCKED)",
        list(ids),
        cut.before,
    )
    return (
        yield from sql.write(
            "DELETE FROM lanes WHERE lane_id @in($1)"
            " AND NOT EXISTS (SELECT 1 FROM feed_sched s WHERE s.lane_id = lanes.lane_id)",
            free,
        )
    )


# An entry in the feed's last document never goes, nor one from its archive.
ENTRIES: Final = PurgeKind(
    _found(
        "SELECT entry_id FROM entries WHERE entry_id > $1 AND in_document = 0 AND backfill = 0"
        " AND last_seen < $3 ORDER BY entry_id LIMIT $2",
        "before",
    ),
    _bury,
)
HEADERS: Final = PurgeKind(  # free once their fetches are gone
    _found(
        f"SELECT h.block_id FROM header_blocks h WHERE h.block_id > $1 AND {UNUSED_BLOCK}"
        " ORDER BY h.block_id LIMIT $2"
    ),
    _deleted(f"DELETE FROM header_blocks AS h WHERE h.block_id @in($1) AND {UNUSED_BLOCK}"),
)
# A document of a collected window goes with its body, which is kept for an age of its own.
COLLECTED: Final = PurgeKind(
    _found(
        "SELECT c.collected_no FROM collected_documents c WHERE c.collected_no > $1 AND c.fetched_at < $3"
        " AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = c.body_sha256)"
        " ORDER BY c.collected_no LIMIT $2",
        "before",
    ),
    _deleted("DELETE FROM collected_documents WHERE collected_no @in($1)"),
)
REVISIONS: Final = PurgeKind(
    _found(
        "SELECT DISTINCT entry_id FROM entry_revisions WHERE entry_id > $1 AND replaced_at < $3"
        " ORDER BY entry_id LIMIT $2",
        "before",
    ),
    _deleted("DELETE FROM entry_revisions WHERE entry_id @in($1) AND replaced_at < $2", "before"),
)
IDENTITIES: Final = PurgeKind(
    _found(
        "SELECT entry_id FROM tombstones WHERE entry_id > $1 AND last_seen < $3"
        " ORDER BY entry_id LIMIT $2",
        "before",
    ),
    lambda ids, _: forget_tombstones(ids),
)
# Hosts that have no feeds any more and asked for no patience.
LANES: Final = PurgeKind(
    _found(
        "SELECT l.lane_id FROM lanes l WHERE l.lane_id > $1 AND l.owner IS NULL"
        " AND coalesce(l.next_ok_at, 0) < $3"
        " AND NOT EXISTS (SELECT 1 FROM feed_sched s WHERE s.lane_id = l.lane_id)"
        " ORDER BY l.lane_id LIMIT $2",
        "before",
    ),
    _drop_lanes,
)

# A fetch whose body is still kept stays with it; so do the last one and the document's own.
SQLITE_FETCHES: Final = PurgeKind(
    _found(
        "SELECT x.fetch_no FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no"
        " WHERE x.fetch_no > $1 AND x.fetched_at < $3"
        " AND x.fetch_id IS NOT f.document_fetch_id AND x.fetched_at IS NOT f.last_fetch_at"
        " AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = x.body_sha256)"
        " ORDER BY x.fetch_no LIMIT $2",
        "before",
    ),
    _deleted("DELETE FROM fetches WHERE fetch_no @in($1)"),
)
# The newest event stays whatever its age: the next number is one more than its own. A webhook that
# is paused does not hold the log up, or one that is gone would do so for ever; nor does a reader that is
# further behind than `held`. Without a cursor the age alone decides. Only the beginning of the log goes, up
# to the first event that stays: an old event may stand behind a young one, and the log has no hole.
SQLITE_EVENTS: Final = PurgeKind(
    _found(
        "SELECT seq FROM outbox WHERE seq > $1 AND seq < (SELECT max(seq) FROM outbox) AND seq < coalesce(("
        "SELECT y.seq FROM outbox y WHERE y.seq > $1 AND (y.occurred_at >= $3"
        " OR (y.occurred_at >= $4 AND EXISTS (SELECT 1 FROM consumer_cursors c WHERE c.seq < y.seq"
        " AND c.consumer NOT IN (SELECT 'webhook:' || id FROM webhooks WHERE state = 'paused'))))"
        " ORDER BY y.seq LIMIT 1), 9223372036854775807) ORDER BY seq LIMIT $2",
        *("before", "held"),
    ),
    _deleted("DELETE FROM outbox WHERE seq @in($1)"),
)
# The same of one that has its millions in partitions: up to the number `held`, which `postgres/purge.py` finds.
POSTGRES_EVENTS: Final = PurgeKind(
    _found(
        "WITH first AS (SELECT seq, occurred_at FROM events WHERE seq > $1 ORDER BY seq LIMIT $2),"
        " young AS (SELECT min(seq) AS seq FROM first WHERE occurred_at >= $3 OR seq > $4)"
        " SELECT first.seq FROM first, young WHERE first.seq < young.seq OR young.seq IS NULL",
        *("before", "held"),
    ),
    _deleted("DELETE FROM events WHERE seq @in($1)"),
)


def feeds_over_identities(most: int) -> Query[tuple[tuple[str, int], ...]]:
    """Feeds that have more deleted entries than their quota, and how many more."""
    found = yield from rows(
        f"SELECT f.id, t.count - $1 * {QUOTA_OF_FEED} FROM feeds f JOIN"
        " (SELECT feed_no, count(*) AS count FROM tombstones GROUP BY feed_no) t"
        f" ON t.feed_no = f.feed_no WHERE t.count > $1 * {QUOTA_OF_FEED}",
        float(most),
        timeout_sec=LOOK_SEC,
    )
    return tuple((feed_id, int(over)) for feed_id, over in found)


def oldest_tombstones(feed_id: str, limit: int) -> Query[list[int]]:
    """The deleted entries of a feed that were last seen the longest ago."""
    return column(
        "SELECT entry_id FROM tombstones WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"
        " ORDER BY last_seen, entry_id LIMIT $2",
        *(feed_id, limit),
        timeout_sec=LOOK_SEC,
    )


def forget_tombstones(entry_ids: Sequence[int]) -> Query[int]:
    """Forget deleted entries with all their identities; how many. One that came back meanwhile stays."""
    ids = yield from column(
        "SELECT entry_id FROM tombstones WHERE entry_id @in($1)", list(entry_ids)
    )
    for table in ("entry_identities", "articles", "entry_aliases", "tombstones"):
        yield from write(f"DELETE FROM {table} WHERE entry_id @in($1)", ids)
    return len(ids)


def tell_quota(event: NewEvent) -> Query[None]:
    """Write to the log what a quota has deleted."""
    reason, at = event.data["reason"], micros(event.occurred_at)
    yield from append_events((event,), f"feed/{event.feed_id}/quota/{reason}/{at}")
