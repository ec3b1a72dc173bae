"""When the clock was set back: takes back what was dated by a clock that ran ahead (H32).

A feed whose last fetch lies in the future was dated by such a clock, and so were its next run and its
host's pause. All of them keep their distance to that fetch, which counts as made just now. So a step of
a day neither stops polling for a day nor polls too early. On PostgreSQL every worker notices the step:
the first one to lock the lanes does the work, the others find it done.
"""
# Tested in tests/contracts/store/

from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store.statements import Query, lock, rows, value, write
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.lanes import FIRST_DUE
from feedmill.schedule.host_pace import shift_pace

# What lies beyond the year 9999 was dated by no clock: that row is damaged.
_IS_AHEAD: Final = f"last_fetch_at > $1 AND last_fetch_at < {codec.NEVER}"
_LONGEST: Final = 1_000 * 365 * 86_400 * 1_000_000  # microseconds, by which a pace is taken back
_AHEAD: Final = (
    "SELECT s.lane_id, f.last_fetch_at - $1 FROM feeds f"
    f" JOIN feed_sched s ON s.feed_no = f.feed_no WHERE {_IS_AHEAD}"
)
_LOCK_LANES: Final = (
    "SELECT 1 FROM lanes WHERE lane_id IN (SELECT s.lane_id FROM feeds f"
    f" JOIN feed_sched s ON s.feed_no = f.feed_no WHERE {_IS_AHEAD})"
    " ORDER BY lane_id FOR NO KEY UPDATE"
)
_LOCK_LEASES: Final = (
    "SELECT 1 FROM lanes WHERE owner IS NOT NULL AND claim_at > $1"
    " ORDER BY lane_id FOR NO KEY UPDATE"
)
_RUNS_BACK: Final = (
    "UPDATE feed_sched SET next_run_at = next_run_at -"
    " (SELECT f.last_fetch_at - $1 FROM feeds f WHERE f.feed_no = feed_sched.feed_no)"
    f" WHERE feed_no IN (SELECT feed_no FROM feeds WHERE {_IS_AHEAD})"
)
_FEEDS_BACK: Final = (
    "UPDATE feeds SET last_fetch_at = $1,"
    " last_decision_at = CASE WHEN last_decision_at > $1 THEN $1 ELSE last_decision_at END"
    f" WHERE {_IS_AHEAD}"
)
_LANES_BACK: Final = (
    "UPDATE lanes AS l SET next_ok_at = n.ok_at, limited_urls = n.limited,"
    f" claim_at = CASE WHEN l.owner IS NULL THEN @greatest({FIRST_DUE}, coalesce(n.ok_at, 0))"
    " ELSE l.claim_at END"
    " FROM @rows($1, lane_id bigint, ok_at bigint, limited text) AS n WHERE l.lane_id = n.lane_id"
)


def is_ahead(now: datetime) -> Query[bool]:
    """Whether a feed was fetched later than now; for a reader, because it looks at all of them."""
    found = yield from value(f"SELECT 1 FROM feeds WHERE {_IS_AHEAD} LIMIT 1", now)
    return found is not None


def follow_clock(now: datetime, lease_sec: float) -> Query[int]:
    """Take back what a clock that ran ahead has dated; the number of feeds."""
    at, lanes = codec.micros(now), dict[int, int]()
    yield from lock(_LOCK_LANES, at)
    # Read only now: another worker that had the lanes may have done all of it.
    feeds = yield from rows(_AHEAD, at)
    for lane_id, ahead in feeds:
        lanes[lane_id] = max(min(ahead, _LONGEST), lanes.get(lane_id, 0))
    yield from write(_RUNS_BACK, at)
    yield from write(_FEEDS_BACK, at)
    paces = yield from rows(
        f"SELECT lane_id, {codec.PACE_COLUMNS} FROM lanes WHERE lane_id @in($1)", list(lanes)
    )
    back = [
        (one[0], shift_pace(codec.pace_of(one[1:]), timedelta(microseconds=-lanes[one[0]])))
        for one in paces
    ]
    moved = [
        (lane_id, codec.micros_or_none(pace.next_ok_at), codec.json_or_null(pace.limited_urls))
        for lane_id, pace in back
    ]
    yield from write(_LANES_BACK, codec.json_text(moved))
    # No lease is longer than this; a longer one was given by the clock that ran ahead.
    longest = at + round(lease_sec * 1_000_000)
    yield from lock(_LOCK_LEASES, longest)
    yield from write(
        "UPDATE lanes SET claim_at = $1 WHERE owner IS NOT NULL AND claim_at > $1", longest
    )
    yield from write(
        "UPDATE jobs SET lease_until = $1 WHERE state = 'running' AND lease_until > $1", longest
    )
    return len(feeds)
