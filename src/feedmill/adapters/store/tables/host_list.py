"""Hosts for people: the lanes with their pace, what holds them up, and who waits."""
# Tested in tests/contracts/store/test_host_list.py

# clauses come from the table below; values are parameters

from datetime import datetime
from typing import Any, Final

from feedmill.adapters.store.statements import Query, rows
from feedmill.adapters.store.tables.codec import Row, instant, instant_or_none, micros
from feedmill.adapters.store.tables.feed_lists import escape_like
from feedmill.adapters.store.tables.paging import page_of
from feedmill.model.host import HostFilter, HostView
from feedmill.model.page import Page

# Feeds are counted by the index of those that are polled; paused ones do not wait.
_SELECT: Final = (
    "SELECT l.lane_key, l.owner, l.claim_at, l.gap_ms, l.next_ok_at, l.blocked_reason, l.slow_down,"
    " l.failures, l.failing_with,"
    " (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id AND s.paused = 0),"
    " (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id AND s.paused = 0"
    " AND s.next_run_at <= $1) FROM lanes l"
)
_STATES: Final = {
    "resting": "(l.next_ok_at > $1 AND l.blocked_reason IS NOT NULL)",
    "failing": "l.failures > 0",
    "slowed": "l.slow_down > 1.01",
}


def hosts(
    where: HostFilter, *, now: datetime, after: str | None = None, limit: int = 100
) -> Query[Page[HostView]]:
    """Hosts in the order of their names; a big host is several lanes, each listed."""
    parameters: list[Any] = [micros(now), after or "", limit + 1]
    clauses = ["l.lane_key > $2"]
    if where.state is not None:
        clauses.append(_STATES[where.state])
    if where.text:
        parameters.append(f"%{escape_like(where.text.lower())}%")
        clauses.append("l.lane_key LIKE $4 ESCAPE '!'")
    if where.host is not None:
        parameters += [where.host, f"{escape_like(where.host)}#%"]
        at = len(parameters)
        clauses.append(f"(l.lane_key = ${at - 1} OR l.lane_key LIKE ${at} ESCAPE '!')")
    found = yield from rows(
        f"{_SELECT} WHERE {' AND '.join(clauses)} ORDER BY l.lane_key LIMIT $3", *parameters
    )
    return page_of(found, limit, _view, lambda one: str(one[0]))


def _view(row: Row) -> HostView:
    key, owner, claim_at, gap_ms, next_ok, blocked, slow_down, failures, failing, feeds, due = row
    return HostView(
        key=key,
        feeds=feeds,
        due=due,
        gap_ms=gap_ms,
        slow_down=slow_down,
        rests_until=instant_or_none(next_ok),
        reason=blocked,
        failures=failures,
        failing_with=failing,
        owner=owner,
        lease_until=None if owner is None else instant(claim_at),
    )
