"""Lanes and leases: who may poll which host, and since when (research: lane leases).

One lane per host, leased as a whole, so that politeness is local to its holder. A claim
raises the lane's epoch; whatever is committed or released under an older epoch is a no-op. The
next run of every claimed feed is written in the same transaction: an interval after the lease's
end, because the request may be sent at any moment until then. So a crash costs one interval and
never an early poll (D25).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.adapters.store.sqlite.connection import is_damage, store_error
from feedmill.adapters.store.tables.codec import (
    FEED_COLUMNS,
    NEVER,
    PACE_COLUMNS,
    Row,
    json_text,
    micros,
    micros_or_none,
    pace_of,
    pace_row,
)
from feedmill.adapters.store.tables.lanes import (
    ClaimTerms,
    ReleasedLane,
    provisional_run,
    read_due,
    rests,
    shard_of,
)
from feedmill.canonicalise.urls import host_key_of
from feedmill.model.feed import Claim, DamagedFeed, Feed, HostPace, Lane

_CHOSEN: Final = "f.id IN (SELECT value FROM json_each(:only))"
# The holder of a lease that ran out may have asked the host until its end: the gap counts from there.
_OK_AT: Final = (
    "iif(owner IS NULL, next_ok_at, max(coalesce(next_ok_at, 0),"
    " claim_at + CAST(gap_ms * slow_down * 1000 AS INTEGER)))"
)
_FREE_LANES: Final = (
    f"SELECT lane_id, lane_key, epoch, {PACE_COLUMNS.replace('next_ok_at', _OK_AT)} FROM lanes"
    " WHERE claim_at <= :now ORDER BY claim_at LIMIT :lanes"
)
_LANES_OF_CHOSEN: Final = (
    " AND lane_id IN (SELECT s.lane_id FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"
    f" WHERE {_CHOSEN} AND s.paused = 0 AND s.next_run_at <= :now)"
)
# The due feeds of all these lanes, so many of each that are due longest. CROSS JOIN: lane by lane.
_DUE_FEEDS: Final = (
    f"SELECT s.lane_id, s.next_run_at, s.feed_no, f.interval_sec, {FEED_COLUMNS}"
    " FROM json_each(:of_lanes) l CROSS JOIN feed_sched s ON s.feed_no IN"
    " (SELECT d.feed_no FROM feed_sched d"
    " WHERE d.lane_id = l.value AND d.paused = 0 AND d.next_run_at <= :now"
    " ORDER BY d.next_run_at LIMIT :feeds)"
    " LEFT JOIN feeds f ON f.feed_no = s.feed_no"
)
_READABLE: Final = " AND d.feed_no NOT IN (SELECT value FROM json_each(:damaged))"
_DUE_DAMAGED: Final = (
    "SELECT lane_id, feed_no FROM feed_sched WHERE lane_id IN (SELECT value FROM json_each(:of_lanes))"
    " AND paused = 0 AND next_run_at <= :now AND feed_no IN (SELECT value FROM json_each(:damaged))"
)
# The lane ?1 can be claimed when its first feed is due and its host may be asked, which is at ?3.
_CLAIMABLE: Final = (
    "claim_at = max(?3, (SELECT coalesce(min(s.next_run_at), ?2) FROM feed_sched s"
    " WHERE s.lane_id = ?1 AND s.paused = 0))"
)
# A pause that another request was given meanwhile (`limit_host`) stands when it is the longer.
_PAUSE_COLUMNS: Final = ("next_ok_at", "blocked_reason")
_PACE_SET: Final = ", ".join(
    f"{name} = iif(next_ok_at > ?3, {name}, ?{at})" if name in _PAUSE_COLUMNS else f"{name} = ?{at}"
    for at, name in enumerate(PACE_COLUMNS.split(", "), start=5)
)
_RELEASE: Final = (
    f"UPDATE lanes SET owner = NULL, {_PACE_SET},"
    f" {_CLAIMABLE.replace('?3', 'coalesce(next_ok_at, 0), ?3')} WHERE lane_id = ?1 AND epoch = ?4"
)
_DEFER: Final = (
    "UPDATE feed_sched SET next_run_at = ?1"
    " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = ?2)"
    " AND EXISTS (SELECT 1 FROM lanes WHERE lane_id = ?3 AND epoch = ?4)"
)
_LEASE: Final = (
    "UPDATE lanes SET claim_at = ?, epoch = ?, owner = ?, next_ok_at = ? WHERE lane_id = ?"
)
_PROVISIONAL_RUN: Final = "UPDATE feed_sched SET next_run_at = ? WHERE feed_no = ?"


def lane_of(connection: sqlite3.Connection, url: str, gap_ms: int) -> int:
    """The number of the lane that the URL belongs to, made when it is the first of its host."""
    key = host_key_of(url)
    found = connection.execute("SELECT lane_id FROM lanes WHERE lane_key = ?", (key,)).fetchone()
    if found is not None:
        return int(found[0])
    made = connection.execute(
        "INSERT INTO lanes (shard, lane_key, claim_at, gap_ms) VALUES (?, ?, ?, ?)",
        (shard_of(key), key, NEVER, gap_ms),
    )
    return made.lastrowid or 0


def claim(
    connection: sqlite3.Connection,
    terms: ClaimTerms,
    damaged: Mapping[int, DamagedFeed] = MappingProxyType({}),
) -> tuple[Claim, ...]:
    """Lease lanes that have due feeds and may be asked; expired leases are free.

    With `only`, lanes of other feeds and other feeds of their lanes are left as they are. `damaged` feeds are
    claimed without a look at them: SQLite writes nothing more in a transaction that met a damaged page.
    """
    claims: list[Claim] = []
    asked: dict[str, int | str] = {
        "now": micros(terms.now),
        "feeds": max(1, terms.max_feeds),
        "only": json_text(terms.only),
        "damaged": json_text([*damaged]),
    }
    lanes, feeds = (_FREE_LANES, _DUE_FEEDS) if terms.only is None else _chosen_statements()
    if damaged:
        feeds = feeds.replace(" ORDER BY", f"{_READABLE} ORDER BY")
    while len(claims) < terms.max_lanes:
        asked["lanes"] = terms.max_lanes - len(claims)
        rows = connection.execute(lanes, asked).fetchall()
        if not rows:
            break
        leases: list[Row] = []
        runs: list[Row] = []
        found = [
            Lane(id=lane_id, key=key, epoch=epoch + 1, pace=pace_of(tuple(pace)))
            for lane_id, key, epoch, *pace in rows
        ]
        asked["of_lanes"] = json_text([lane.id for lane in found if not rests(lane, terms.now)])
        due_by_lane = _due(connection, feeds, asked, damaged)
        for lane in found:
            if due := due_by_lane.get(lane.id):
                claims.append(_leased(lane, terms.until, due, runs))
                leases.append(_lease_row(lane, terms))
            else:
                _pass_over(connection, lane, terms)
        connection.executemany(_LEASE, leases)
        connection.executemany(_PROVISIONAL_RUN, runs)
    return tuple(claims)


def release(connection: sqlite3.Connection, given: ReleasedLane) -> None:
    """Give the lane back with the pace learnt; nothing happens when it was lost."""
    lane, pace, deferred = given
    if deferred:
        connection.executemany(
            _DEFER,
            [(micros(due_at), feed_id, lane.id, lane.epoch) for feed_id, due_at in deferred],
        )
    connection.execute(_RELEASE, (lane.id, NEVER, _ok_at(pace), lane.epoch, *pace_row(pace)))


def limit_host(
    connection: sqlite3.Connection, url: str, until: datetime, reason: str | None, gap_ms: int
) -> None:
    """Send no request to the URL's host before `until`; a longer pause stays as it is.

    A worker that holds the lane finishes its work and takes the pause over at release.
    """
    lane_id, at = lane_of(connection, url, gap_ms), micros(until)
    connection.execute(
        "UPDATE lanes SET next_ok_at = ?, blocked_reason = coalesce(?, blocked_reason),"
        " claim_at = iif(owner IS NULL AND claim_at < ?, max(claim_at, ?), claim_at)"
        " WHERE lane_id = ? AND coalesce(next_ok_at, 0) < ?",
        (at, reason, NEVER, at, lane_id, at),
    )


def _chosen_statements() -> tuple[str, str]:
    """The statements that see lanes and due feeds of `only`."""
    return (
        _FREE_LANES.replace(" ORDER BY", f"{_LANES_OF_CHOSEN} ORDER BY"),
        _DUE_FEEDS.replace(
            " ORDER BY",
            f" AND d.feed_no IN (SELECT f.feed_no FROM feeds f WHERE {_CHOSEN}) ORDER BY",
        ),
    )


_due_since: Final = itemgetter(1)  # of a row of _DUE_FEEDS


class _Due(NamedTuple):
    feed_no: int
    interval_sec: float
    feed: Feed | DamagedFeed


def _due(
    connection: sqlite3.Connection,
    feeds: str,
    wanted: Mapping[str, int | str],
    damaged: Mapping[int, DamagedFeed],
) -> dict[int, list[_Due]]:
    """The due feeds of each lane, those that are due longest first."""
    found: dict[int, list[_Due]] = {}
    rows = connection.execute(feeds, wanted).fetchall()
    rows.sort(key=_due_since)
    for row in rows:
        lane_id, _, feed_no, interval_sec = row[:4]
        due = _Due(feed_no, interval_sec, read_due(feed_no, row[4:]))
        found.setdefault(lane_id, []).append(due)
    if damaged:
        for lane_id, number in connection.execute(_DUE_DAMAGED, wanted):
            found.setdefault(lane_id, []).append(_Due(number, 3600.0, damaged[number]))
    return found


def unreadable_feeds(
    connection: sqlite3.Connection, now: datetime, only: Sequence[str] | None
) -> dict[int, DamagedFeed]:
    """Due feeds whose rows cannot be read, by number; each is looked at alone."""
    due = connection.execute(
        "SELECT feed_no FROM feed_sched WHERE paused = 0 AND next_run_at <= ?", (micros(now),)
    ).fetchall()
    found: dict[int, DamagedFeed] = {}
    for (number,) in due:
        try:
            connection.execute("SELECT * FROM feeds WHERE feed_no = ?", (number,)).fetchone()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            why = str(store_error(error, f"feed number {number}"))
            one = DamagedFeed(id=_id_of(connection, number), why=why)
            if only is None or one.id in only:
                found[number] = one
    return found


def _id_of(connection: sqlite3.Connection, feed_no: int) -> str:
    try:
        ((feed_id,),) = connection.execute("SELECT id FROM feeds WHERE feed_no = ?", (feed_no,))
    except (sqlite3.Error, ValueError):
        return f"number {feed_no}"
    return str(feed_id)


def _lease_row(lane: Lane, terms: ClaimTerms) -> Row:
    pause = micros_or_none(lane.pace.next_ok_at)
    return (micros(terms.until), lane.epoch, terms.owner, pause, lane.id)


def _leased(lane: Lane, until: datetime, due: Sequence[_Due], runs: list[Row]) -> Claim:
    """The claim of a lane; the next runs of its feeds are added to `runs`."""
    feeds: list[Feed] = []
    scheduled_at: list[datetime] = []
    damaged: list[DamagedFeed] = []
    for feed_no, interval_sec, feed in due:
        next_run_at = provisional_run(until, interval_sec)
        runs.append((micros(next_run_at), feed_no))
        if isinstance(feed, DamagedFeed):
            damaged.append(feed)
            continue
        scheduled_at.append(feed.next_poll_at)
        feeds.append(replace(feed, next_poll_at=next_run_at))
    return Claim(
        lane=lane,
        until=until,
        feeds=tuple(feeds),
        scheduled_at=tuple(scheduled_at),
        damaged=tuple(damaged),
    )


def _pass_over(connection: sqlite3.Connection, lane: Lane, terms: ClaimTerms) -> None:
    """A lane without due feeds, left by a process that died: fence that off, wait for the next."""
    connection.execute(
        f"UPDATE lanes SET owner = NULL, epoch = ?4, next_ok_at = ?5, {_CLAIMABLE} WHERE lane_id = ?1",
        (lane.id, NEVER, _ok_at(lane.pace), lane.epoch, micros_or_none(lane.pace.next_ok_at)),
    )
    # Where a damaged index still calls it due, it must not be found again in this claim.
    connection.execute(
        "UPDATE lanes SET claim_at = ? WHERE lane_id = ? AND claim_at <= ?",
        (micros(terms.until), lane.id, micros(terms.now)),
    )


def _ok_at(pace: HostPace) -> int:
    return 0 if pace.next_ok_at is None else micros(pace.next_ok_at)
