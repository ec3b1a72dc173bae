"""Leases: who may poll which host, and since when (research: lane leases).

A lane is leased as a whole, so that politeness is local to its holder. A claim raises the
lane's epoch; whatever is committed or released under an older epoch is a no-op. The next run of every
claimed feed is written in the same transaction: an interval after the lease's end, because the
request may be sent at any moment until then. So a crash costs one interval and never an early poll
(D25).

Lanes that another process is about to claim are skipped, not waited for: claims never queue up.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import asyncpg
from msgspec.structs import replace

from feedmill.adapters.store.postgres.claim_planner import ClaimPlanner, ShardSearch
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import (
    FEED_COLUMNS,
    PACE_COLUMNS,
    micros,
    pace_of,
)
from feedmill.adapters.store.tables.lanes import (
    FIRST_DUE,
    ClaimTerms,
    provisional_run,
    read_due,
    rests,
)
from feedmill.model.feed import Claim, DamagedFeed, Feed, Lane

_Due: TypeAlias = tuple[Feed | DamagedFeed, datetime]  # and its provisional next run

_PACE: Final = ", ".join(f"l.{name}" for name in PACE_COLUMNS.split(", "))
# The holder of a lease that ran out may have asked the host until its end: the gap counts from there.
_LEASE: Final = (
    "UPDATE lanes l SET claim_at = $1, epoch = l.epoch + 1, owner = $2,"
    " next_ok_at = CASE WHEN l.owner IS NULL THEN l.next_ok_at ELSE greatest(l.next_ok_at,"
    " due.claim_at + ceil(l.gap_ms * l.slow_down * 1000)::bigint) END FROM due"
    " WHERE l.lane_id = due.lane_id"
    f" RETURNING l.lane_id, l.lane_key, l.epoch, due.claim_at AS due_at, {_PACE}"
)
_LEASE_DUE: Final = (
    "WITH due AS MATERIALIZED (SELECT d.lane_id, d.claim_at FROM lanes d"
    " WHERE d.claim_at >= $6 AND d.claim_at <= $3 AND d.shard = ANY($5::smallint[])"
    " ORDER BY d.claim_at LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED)"
    f" {_LEASE}"
)
_LEASE_CHOSEN: Final = (
    "WITH due AS MATERIALIZED (SELECT d.lane_id, d.claim_at FROM lanes d"
    " WHERE d.claim_at <= $3 AND d.lane_id IN (SELECT s.lane_id FROM feeds f"
    " JOIN feed_sched s ON s.feed_no = f.feed_no"
    " WHERE f.id = ANY($5::text[]) AND s.paused = 0 AND s.next_run_at <= $3)"
    " ORDER BY d.claim_at LIMIT $4 FOR NO KEY UPDATE OF d SKIP LOCKED)"
    f" {_LEASE}"
)
_DUE_FEEDS: Final = (
    f"SELECT w.lane_id, s.feed_no, f.interval_sec, {FEED_COLUMNS} FROM unnest($1::bigint[]) AS w (lane_id),"
    " LATERAL (SELECT d.feed_no, d.next_run_at FROM feed_sched d"
    " WHERE d.lane_id = w.lane_id AND d.paused = 0 AND d.next_run_at <= $2{chosen}"
    " ORDER BY d.next_run_at, d.feed_no LIMIT $3) s"
    " LEFT JOIN feeds f ON f.feed_no = s.feed_no ORDER BY s.next_run_at, s.feed_no"
)
_DUE_OF_ALL: Final = _DUE_FEEDS.format(chosen="")
_DUE_OF_CHOSEN: Final = _DUE_FEEDS.format(
    chosen=" AND EXISTS (SELECT 1 FROM feeds c WHERE c.feed_no = d.feed_no"
    " AND c.id = ANY($4::text[]))"
)
_SET_RUNS: Final = (
    "UPDATE feed_sched s SET next_run_at = n.at FROM unnest($1::bigint[], $2::bigint[])"
    " AS n (feed_no, at) WHERE s.feed_no = n.feed_no"
)
# A lane without due feeds was left by a process that died; its epoch is raised already. Where a damaged index still calls
# it due, it must not be found again in this claim.
_PASS_OVER: Final = (
    "UPDATE lanes l SET owner = NULL, claim_at = CASE"
    f" WHEN greatest({FIRST_DUE}, coalesce(l.next_ok_at, 0)) <= $2 THEN $3"
    f" ELSE greatest({FIRST_DUE}, coalesce(l.next_ok_at, 0)) END"
    " WHERE l.lane_id = ANY($1::bigint[])"
)


async def claim(
    connection: PgConnection, planner: ClaimPlanner, terms: ClaimTerms
) -> tuple[Claim, ...]:
    """Lease lanes that have due feeds and may be asked; expired leases are free.

    With `only`, lanes of other feeds and other feeds of their lanes are left as they are.
    """
    places = terms.max_lanes
    if terms.only is not None:
        return tuple(await _claim_chosen(connection, terms, places))
    # Only a plain scan of the index remembers which of its entries are dead: every lease leaves one where it would have ended.
    await connection.execute("SET LOCAL enable_bitmapscan = off")
    claims: list[Claim] = []
    for search in planner.searches(micros(terms.now)):
        claims += await _claim_due(connection, planner, search, terms, places - len(claims))
    if not claims and places > 0 and (doubt := planner.doubt()) is not None:
        claims += await _claim_due(connection, planner, doubt, terms, places)
    return tuple(claims)


async def still_held(
    connection: PgConnection, owner: str, claims: Sequence[Claim]
) -> tuple[Claim, ...]:
    """Those of the claims that stand in the database as they were made."""
    rows = await connection.fetch(
        "SELECT lane_id, epoch FROM lanes WHERE lane_id = ANY($1::bigint[]) AND owner = $2",
        [claim.lane.id for claim in claims],
        owner,
    )
    epochs = {row["lane_id"]: row["epoch"] for row in rows}
    return tuple(one for one in claims if epochs.get(one.lane.id) == one.lane.epoch)


async def _claim_due(
    connection: PgConnection,
    planner: ClaimPlanner,
    search: ShardSearch,
    terms: ClaimTerms,
    places: int,
) -> list[Claim]:
    """Fill the places from these shards, as far as there are due lanes in them."""
    claims: list[Claim] = []
    now, until = micros(terms.now), micros(terms.until)
    while (left := places - len(claims)) > 0:
        rows = await connection.fetch(
            _LEASE_DUE, until, terms.owner, now, left, search.shards, search.low
        )
        planner.searched(
            search, [row["due_at"] for row in rows], is_full=len(rows) == left, now=now
        )
        claims += await _take(connection, rows, terms)
        if len(rows) < left:
            break
    return claims


async def _claim_chosen(connection: PgConnection, terms: ClaimTerms, places: int) -> list[Claim]:
    """Fill the places with lanes of the chosen feeds."""
    claims: list[Claim] = []
    now, until = micros(terms.now), micros(terms.until)
    while (left := places - len(claims)) > 0:
        rows = await connection.fetch(_LEASE_CHOSEN, until, terms.owner, now, left, terms.only)
        claims += await _take(connection, rows, terms)
        if len(rows) < left:
            break
    return claims


async def _take(
    connection: PgConnection, rows: "Sequence[asyncpg.Record]", terms: ClaimTerms
) -> list[Claim]:
    """The leased lanes with their due feeds; those without any are passed over."""
    lanes = [_lane(row) for row in sorted(rows, key=lambda row: (row["due_at"], row["lane_id"]))]
    ready = [lane.id for lane in lanes if not rests(lane, terms.now)]
    due = await _due_feeds(connection, ready, terms) if ready else {}
    idle = [lane.id for lane in lanes if lane.id not in due]
    if idle:
        await connection.execute(_PASS_OVER, idle, micros(terms.now), micros(terms.until))
    return [_claim(lane, due[lane.id], terms.until) for lane in lanes if lane.id in due]


async def _due_feeds(
    connection: PgConnection, lane_ids: Sequence[int], terms: ClaimTerms
) -> dict[int, list[_Due]]:
    """The due feeds by lane, each with its provisional next run, which is written with this."""
    statement = _DUE_OF_ALL if terms.only is None else _DUE_OF_CHOSEN
    chosen: tuple[Any, ...] = () if terms.only is None else (terms.only,)
    rows = await connection.fetch(
        statement, lane_ids, micros(terms.now), max(1, terms.max_feeds), *chosen
    )
    due: dict[int, list[_Due]] = {}
    numbers: list[int] = []
    runs: list[int] = []
    for lane_id, feed_no, interval_sec, *row in map(tuple, rows):
        feed = read_due(feed_no, tuple(row))
        next_run_at = provisional_run(terms.until, interval_sec)
        due.setdefault(lane_id, []).append((feed, next_run_at))
        numbers.append(feed_no)
        runs.append(micros(next_run_at))
    await connection.execute(_SET_RUNS, numbers, runs)
    return due


def _lane(row: "asyncpg.Record") -> Lane:
    lane_id, key, epoch, _, *pace = tuple(row)
    return Lane(id=lane_id, key=key, epoch=epoch, pace=pace_of(tuple(pace)))


def _claim(lane: Lane, due: Sequence[_Due], until: datetime) -> Claim:
    read = [(feed, next_run_at) for feed, next_run_at in due if isinstance(feed, Feed)]
    return Claim(
        lane=lane,
        until=until,
        feeds=tuple(replace(feed, next_poll_at=next_run_at) for feed, next_run_at in read),
        scheduled_at=tuple(feed.next_poll_at for feed, _ in read),
        damaged=tuple(feed for feed, _ in due if isinstance(feed, DamagedFeed)),
    )
