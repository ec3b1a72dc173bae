"""Table `tombstones`: what is left of deleted entries."""
# Tested in tests/contracts/store/test_purge_cuts.py

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.statements import Query, append_events, column, rows, write
from feedmill.adapters.store.tables.codec import micros
from feedmill.model.event import NewEvent

LOOK_SEC: Final = 600.0  # all rows are looked at, and nothing waits for it
# How much of a general quota the feed `f` has; NULL: it has none.
QUOTA_OF_FEED: Final = (
    "nullif(coalesce(CAST(@field(f.overrides, quota) AS double precision), 1), 0)"
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
