"""When the database's clock was set back: what the clock that ran ahead has dated is brought along.

A feed whose last fetch lies ahead of us was dated by such a clock, and so were its next run and
its host's pause. All of them keep their distance to that fetch, which counts as made just now. A
day's step then costs nobody a day of silence, and nobody is asked too early (H32). Every worker
notices the step: the first to have the lanes does the work, and the others find it done.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store.postgres.lanes import FIRST_DUE
from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.sqlite.clock_steps import earlier
from feedmill.adapters.store.tables.codec import (
    PACE_COLUMNS,
    json_or_null,
    micros,
    micros_or_none,
    pace_of,
)

# Clocks that follow one database differ by milliseconds, so others are always a little ahead of us.
# That is no step: to take it for one would shorten the leases of those who mean to hold them longer.
_LEEWAY: Final = timedelta(seconds=5)
_HOLD: Final = (
    "SELECT 1 FROM lanes WHERE lane_id IN (SELECT s.lane_id FROM feeds f"
    " JOIN feed_sched s ON s.feed_no = f.feed_no WHERE f.last_fetch_at > $1)"
    " ORDER BY lane_id FOR NO KEY UPDATE"
)
_RUNS_BACK: Final = (
    "UPDATE feed_sched s SET next_run_at = s.next_run_at - (f.last_fetch_at - $1)"
    " FROM feeds f WHERE f.feed_no = s.feed_no AND f.last_fetch_at > $1"
    " RETURNING s.lane_id, f.last_fetch_at - $1"
)
_FEEDS_BACK: Final = (
    "UPDATE feeds SET last_fetch_at = $1, last_decision_at = least(last_decision_at, $1)"
    " WHERE last_fetch_at > $1"
)
_PACES: Final = f"SELECT lane_id, {PACE_COLUMNS} FROM lanes WHERE lane_id = ANY($1::bigint[])"
_LANES_BACK: Final = (
    "UPDATE lanes l SET next_ok_at = n.ok_at, limited_urls = n.limited,"
    f" claim_at = CASE WHEN l.owner IS NULL THEN greatest({FIRST_DUE}, coalesce(n.ok_at, 0))"
    " ELSE l.claim_at END"
    " FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n (lane_id, ok_at, limited)"
    " WHERE l.lane_id = n.lane_id"
)
_SHORTEN: Final = (
    "WITH long AS (SELECT lane_id FROM lanes WHERE owner IS NOT NULL AND claim_at > $1"
    " ORDER BY lane_id FOR NO KEY UPDATE)"
    " UPDATE lanes l SET claim_at = $1 FROM long WHERE l.lane_id = long.lane_id"
)


async def is_ahead(connection: Connection, now: datetime) -> bool:
    """Whether any feed was fetched well after now; for a reader, because it looks at all."""
    found = await connection.fetchval(
        "SELECT 1 FROM feeds WHERE last_fetch_at > $1 LIMIT 1", micros(now + _LEEWAY)
    )
    return found is not None


async def follow_clock(connection: Connection, now: datetime, lease_sec: float) -> int:
    """Take back what a clock that ran ahead has dated; the number of feeds."""
    at = micros(now)
    await connection.execute(_HOLD, at)
    # Read only now: whoever had the lanes before us may have done all of it.
    feeds = await connection.fetch(_RUNS_BACK, at)
    await connection.execute(_FEEDS_BACK, at)
    lanes: dict[int, int] = {}
    for lane_id, ahead in map(tuple, feeds):
        lanes[lane_id] = max(ahead, lanes.get(lane_id, 0))
    await _bring_lanes_back(connection, lanes)
    # No lease of ours is longer than this; a longer one was given by the clock that ran ahead.
    await connection.execute(_SHORTEN, at + round(lease_sec * 1_000_000))
    return len(feeds)


async def _bring_lanes_back(connection: Connection, lanes: Mapping[int, int]) -> None:
    rows = await connection.fetch(_PACES, list(lanes))
    paces = {row[0]: pace_of(tuple(row)[1:]) for row in rows}
    back = [earlier(pace, timedelta(microseconds=lanes[one])) for one, pace in paces.items()]
    await connection.execute(
        _LANES_BACK,
        list(paces),
        [micros_or_none(pace.next_ok_at) for pace in back],
        [json_or_null(pace.limited_urls) for pace in back],
    )
