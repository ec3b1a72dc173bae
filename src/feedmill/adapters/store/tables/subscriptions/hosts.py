"""Hosts as they are seen: the pace of their lanes, and how many of their feeds are due or held."""
# Tested in tests/contracts/store/test_host_lanes.py

from datetime import datetime
from typing import Any, Final

from feedmill.adapters.store.statements import Query, rows
from feedmill.adapters.store.tables.codec import PACE_COLUMNS, Row, micros, pace_of
from feedmill.adapters.store.tables.paging import page_of
from feedmill.adapters.store.tables.subscriptions.feed_lists import escape_like
from feedmill.errors import UsageError
from feedmill.model.feed import HostLane
from feedmill.model.page import HostFilter, Page

_PACE: Final = ", ".join(f"l.{name}" for name in PACE_COLUMNS.split(", "))
# Feeds are counted by the index of those that are polled; paused ones wait for nothing.
_LANES: Final = f"""
SELECT l.lane_key, {_PACE},
       (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id AND s.paused = 0) AS feeds,
       (SELECT count(*) FROM feed_sched s
         WHERE s.lane_id = l.lane_id AND s.paused = 0 AND s.next_run_at <= $1)
  FROM lanes l WHERE l.lane_key > $2"""
_TROUBLED: Final = (
    "(l.troubled_since IS NOT NULL OR l.blocked_reason IS NOT NULL OR l.failures > 0"
    " OR l.limited_urls IS NOT NULL)"
)


_RESTING: Final = "l.next_ok_at > $1 AND l.blocked_reason IS NOT NULL"


def host_lanes(
    where: HostFilter, *, now: datetime, after: str | None = None, limit: int = 100
) -> Query[Page[HostLane]]:
    """Lanes with their pace and their feeds that are polled, by name; resting ones have one page."""
    parameters: list[Any] = [micros(now), _key_of(after), limit + 1]
    clauses = [_TROUBLED] if where.troubled else []
    clauses += [_RESTING] if where.resting else []
    if where.text:
        parameters.append(f"%{escape_like(where.text.lower())}%")
        clauses.append(f"l.lane_key LIKE ${len(parameters)} ESCAPE '!'")
    if where.host is not None:
        parameters += [where.host, f"{escape_like(where.host)}#%"]
        exact, numbered = len(parameters) - 1, len(parameters)
        clauses.append(f"(l.lane_key = ${exact} OR l.lane_key LIKE ${numbered} ESCAPE '!')")
    chosen = "".join(f" AND {one}" for one in clauses)
    first = "feeds DESC, " if where.resting else ""
    found = yield from rows(f"{_LANES}{chosen} ORDER BY {first}l.lane_key LIMIT $3", *parameters)
    if where.resting:
        return Page(items=tuple(map(_lane_of, found[:limit])))
    return page_of(found, limit, _lane_of, lambda one: str(one[0]).encode().hex())


def _key_of(cursor: str | None) -> str:
    """The key of the last lane that a page showed; UsageError for a cursor of another list."""
    try:
        return bytes.fromhex(cursor or "").decode()
    except ValueError:
        message = f"{cursor!r} is no cursor of this list; take the one that the last page gave"
        raise UsageError(message) from None


def _lane_of(row: Row) -> HostLane:
    key, *pace, feeds, due = row
    return HostLane(key=key, pace=pace_of(tuple(pace)), feeds=feeds, due=due)
