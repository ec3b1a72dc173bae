"""Hosts as they are seen: the pace of their lanes, and how many of their feeds are due or held."""
# Tested in tests/contracts/store/

from datetime import datetime
from typing import Final

from feedmill.adapters.store.statements import Query, rows
from feedmill.adapters.store.tables.codec import PACE_COLUMNS, Row, micros, pace_of
from feedmill.adapters.store.tables.paging import page_of, position
from feedmill.model.feed import HostLane
from feedmill.model.page import Page

_PACE: Final = ", ".join(f"l.{name}" for name in PACE_COLUMNS.split(", "))
_LANES: Final = f"""
SELECT l.lane_id, l.lane_key, {_PACE},
       (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id),
       (SELECT count(*) FROM feed_sched s
         WHERE s.lane_id = l.lane_id AND s.paused = 0 AND s.next_run_at <= $1)
  FROM lanes l WHERE l.lane_id > $2 {{}} ORDER BY l.lane_id LIMIT $3"""  # noqa: S608  # our own columns
_TROUBLED: Final = (
    "AND (l.troubled_since IS NOT NULL OR l.blocked_reason IS NOT NULL OR l.failures > 0"
    " OR l.limited_urls IS NOT NULL)"
)


def host_lanes(
    now: datetime, *, troubled: bool = False, after: str | None = None, limit: int = 100
) -> Query[Page[HostLane]]:
    """Lanes with their pace and their feeds, in a stable order; `troubled`: only those with a problem."""
    (last,) = position(after, 1) or (0,)
    sql = _LANES.format(_TROUBLED if troubled else "")
    found = yield from rows(sql, micros(now), last, limit + 1)
    return page_of(found, limit, _lane_of, lambda one: f"{one[0]}")


def _lane_of(row: Row) -> HostLane:
    _, key, *pace, feeds, due = row
    return HostLane(key=key, pace=pace_of(tuple(pace)), feeds=feeds, due=due)
