"""When the wall clock was set back: what the clock that ran ahead has dated is brought along.

A feed whose last fetch lies ahead of us was dated by such a clock, and so were its next run and
its host's pause. All of them keep their distance to that fetch, which counts as made just now. A
day's step then costs nobody a day of silence, and nobody is asked too early (H32).
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

import sqlite3
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.adapters.store.sqlite.claims import free
from feedmill.adapters.store.tables.codec import PACE_COLUMNS, micros, pace_of, pace_row
from feedmill.model.feed import HostPace

_AHEAD: Final = (
    "SELECT f.feed_no, s.lane_id, f.last_fetch_at - ? FROM feeds f"
    " JOIN feed_sched s ON s.feed_no = f.feed_no WHERE f.last_fetch_at > ?"
)
_BRING_BACK: Final = (
    "UPDATE feeds SET last_fetch_at = ?, last_decision_at = min(last_decision_at, ?)"
    " WHERE feed_no = ?"
)


def is_ahead(connection: sqlite3.Connection, now: datetime) -> bool:
    """Whether any feed was fetched later than now; for a reader, because it looks at all."""
    found = connection.execute(
        "SELECT 1 FROM feeds WHERE last_fetch_at > ? LIMIT 1", (micros(now),)
    )
    return found.fetchone() is not None


def follow_clock(connection: sqlite3.Connection, now: datetime, lease_sec: float) -> int:
    """Take back what a clock that ran ahead has dated; the number of feeds."""
    at, lanes = micros(now), dict[int, int]()
    feeds = connection.execute(_AHEAD, (at, at)).fetchall()
    for feed_no, lane_id, ahead in feeds:
        connection.execute(
            "UPDATE feed_sched SET next_run_at = next_run_at - ? WHERE feed_no = ?",
            (ahead, feed_no),
        )
        connection.execute(_BRING_BACK, (at, at, feed_no))
        lanes[lane_id] = max(ahead, lanes.get(lane_id, 0))
    for lane_id, ahead in lanes.items():
        _bring_lane_back(connection, lane_id, ahead)
    # No lease of ours is longer than this; a longer one was given by the clock that ran ahead.
    longest = at + round(lease_sec * 1_000_000)
    connection.execute(
        "UPDATE lanes SET claim_at = ? WHERE owner IS NOT NULL AND claim_at > ?", (longest, longest)
    )
    return len(feeds)


def _bring_lane_back(connection: sqlite3.Connection, lane_id: int, ahead: int) -> None:
    *pace, owner = connection.execute(
        f"SELECT {PACE_COLUMNS}, owner FROM lanes WHERE lane_id = ?", (lane_id,)
    ).fetchone()
    brought = earlier(pace_of(tuple(pace)), timedelta(microseconds=ahead))
    connection.execute(
        f"UPDATE lanes SET ({PACE_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?) WHERE lane_id = ?",
        (*pace_row(brought), lane_id),
    )
    if owner is None:
        free(connection, lane_id, brought)


def earlier(pace: HostPace, by: timedelta) -> HostPace:
    """The pace, with every pause of it ending so much sooner."""
    ok_at = pace.next_ok_at
    return replace(
        pace,
        next_ok_at=None if ok_at is None else ok_at - by,
        limited_urls=tuple((url, until - by) for url, until in pace.limited_urls),
    )
