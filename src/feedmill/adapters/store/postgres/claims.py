"""Leases: who may poll which host, and since when (research: lane leases).

A lane is leased as a whole, so that politeness is local to its holder. A claim raises the
lane's epoch; whatever is committed or released under an older epoch is a no-op. The next run of every
claimed feed is written in the same transaction: an interval after the lease's end, because the
request may be sent at any moment until then. So a crash costs one interval and never an early poll
(D25).

Lanes that another process is about to claim are skipped, not waited for: claims never queue up.

One process keeps in mind about claiming its own shards, and where the due lanes begin. All of it is a preference. Who holds a lane is decided by its row, so a list of workers that is out of
date, or a mark that is wrong, costs time and never a host its peace.

Own shards: the live workers share the shards by rendezvous hashing, so that they do not all reach for
the same rows. When a worker's own do not fill its places it takes from all others at once. The oldest come first.

Marks: a row that was claimed leaves a dead entry at the head of the index, and one long transaction
(a dump, a report) keeps all of them there. So the own shards have a mark below which nothing is due any
more, and all others one. Another process may have put a lane below it: now and then the looking begins at the beginning.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import asyncpg
from msgspec.structs import replace

from feedmill.adapters.store.postgres.lanes import (
    host_of_lane,
    is_split,
    limit_lanes,
    lock_host_lanes,
)
from feedmill.adapters.store.postgres.parameters import to_columns
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import (
    FEED_COLUMNS,
    PACE_COLUMNS,
    instant,
    micros,
    pace_of,
    pace_row,
)
from feedmill.adapters.store.tables.lanes import (
    FIRST_DUE,
    SHARDS,
    ClaimTerms,
    ReleasedLane,
    provisional_run,
    read_due,
    rests,
)
from feedmill.model.feed import Claim, DamagedFeed, Feed, HostPace, Lane

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

SWEEP_CLAIMS: Final = 200
SWEEP_MICROS: Final = 5_000_000
SLACK_MICROS: Final = 10_000_000  # lanes are made due a little in the past all the time

_ALL: Final = tuple(range(SHARDS))
_HOLD_RELEASED: Final = (
    "SELECT l.lane_id, l.next_ok_at, l.blocked_reason"
    " FROM unnest($1::bigint[], $2::bigint[]) AS n (lane_id, epoch)"
    " JOIN lanes l ON l.lane_id = n.lane_id AND l.epoch = n.epoch"
    " ORDER BY l.lane_id FOR NO KEY UPDATE OF l"
)
# A feed that has left the lane meanwhile keeps the run that it has.
_DEFER: Final = (
    "UPDATE feed_sched s SET next_run_at = n.at"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (id, at, lane_id)"
    " JOIN feeds f ON f.id = n.id WHERE s.feed_no = f.feed_no AND s.lane_id = n.lane_id"
)
_GIVE_BACK: Final = (
    f"UPDATE lanes l SET owner = NULL, ({PACE_COLUMNS}) ="
    f" ({', '.join(f'n.{name}' for name in PACE_COLUMNS.split(', '))}),"
    f" claim_at = greatest({FIRST_DUE}, coalesce(n.next_ok_at, 0))"
    " FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::double precision[],"
    f" $6::integer[], $7::text[], $8::text[], $9::bigint[], $10::text[]) AS n (lane_id, {PACE_COLUMNS})"
    " WHERE l.lane_id = n.lane_id"
)


class ShardSearch(NamedTuple):
    """Shards to look for due lanes in, from a mark on."""

    shards: Sequence[int]
    low: int
    is_sweep: bool = False


class ClaimPlanner:
    """Preferences of one process; correctness never depends on them."""

    def __init__(self) -> None:
        self._live: tuple[str, ...] = ()
        self._lows: dict[tuple[int, ...], int] = {_ALL: 0}  # of the own shards, and of all others
        self._since_sweep = 0
        self._swept_at = 0
        self._in_vain = 0  # claims that found nothing since the last search below the marks
        self._patience = 1  # how many of them there are before the next one

    def share(self, name: str, live: Sequence[str]) -> None:
        """Take the shards that fall to `name` among the live workers (rendezvous hashing)."""
        names = tuple(sorted({name, *live}))
        if names == self._live:
            return
        own = shards_of_worker(name, names)
        parts = tuple(sorted(own)), tuple(shard for shard in _ALL if shard not in own)
        self._live, self._lows = names, {part: 0 for part in parts if part}

    def searches(self, now: int) -> tuple[ShardSearch, ...]:
        """Where to look, in this order: the own shards, then all others."""
        self._since_sweep += 1
        is_sweep = self._is_time_to_sweep(now)
        if is_sweep:
            self._since_sweep, self._swept_at = 0, now
        return tuple(
            self._from(part, low, is_sweep=is_sweep and at == 0)
            for at, (part, low) in enumerate(self._lows.items())
        )

    def doubt(self) -> ShardSearch | None:
        """Every shard from its beginning, for a claim that found nothing; not if that is in vain."""
        self._in_vain += 1
        if self._in_vain < self._patience:
            return None
        self._in_vain = 0
        return self._from(_ALL, is_sweep=True)

    def searched(
        self, search: ShardSearch, due_at: Sequence[int], *, is_full: bool, now: int
    ) -> None:
        """Move the marks after a search that found lanes which were due since then.

        A search that could have taken more has seen all there was; one that was full took the oldest.
        """
        if search.is_sweep:
            self._patience = 1 if due_at else min(self._patience * 2, SWEEP_CLAIMS)
        low = max(due_at) if is_full else now - SLACK_MICROS
        for part in self._lows:
            if search.shards in (part, _ALL):
                self._lows[part] = low

    def _is_time_to_sweep(self, now: int) -> bool:
        waited = now - self._swept_at
        return self._since_sweep >= SWEEP_CLAIMS or not 0 <= waited < SWEEP_MICROS

    def _from(self, shards: Sequence[int], low: int = 0, *, is_sweep: bool = False) -> ShardSearch:
        return ShardSearch(shards, 0 if is_sweep else low, is_sweep)


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


async def release(connection: PgConnection, given: ReleasedLane) -> None:
    """Give one lane back; a pause that one of several of its host was asked for binds them all."""
    if not binds_siblings(given):
        await release_all(connection, (given,))
        return
    await lock_host_lanes(connection, host_of_lane(given.lane.key))
    for one in await release_all(connection, (given,)):
        if one.next_ok_at is not None:
            at = micros(one.next_ok_at)
            await limit_lanes(connection, host_of_lane(given.lane.key), at, one.blocked_reason)


async def release_all(
    connection: PgConnection, givens: Sequence[ReleasedLane]
) -> Sequence[HostPace]:
    """Give lanes back with the paces learnt; those that are written. Nothing happens to lost ones.

    A pause that another request was given meanwhile (`limit_host`) stands when it is the longer.
    """
    # Of two leases on one lane the later one counts; the other was lost to it.
    by_lane = {one.lane.id: one for one in sorted(givens, key=lambda one: one.lane.epoch)}
    epochs = [one.lane.epoch for one in by_lane.values()]
    held = await connection.fetch(_HOLD_RELEASED, list(by_lane), epochs)
    if not held:
        return ()
    written = [
        (by_lane[row[0]], _released_pace(by_lane[row[0]].pace, row[1], row[2])) for row in held
    ]
    late = [
        (feed_id, micros(due_at), one.lane.id)
        for one, _ in written
        for feed_id, due_at in one.deferred
    ]
    if late:
        await connection.execute(_DEFER, *to_columns(late))
    rows = [(one.lane.id, *pace_row(pace)) for one, pace in written]
    await connection.execute(_GIVE_BACK, *to_columns(rows))
    return [pace for _, pace in written]


def _released_pace(learnt: HostPace, next_ok_at: int | None, reason: str | None) -> HostPace:
    if next_ok_at is None or (learnt.next_ok_at and instant(next_ok_at) <= learnt.next_ok_at):
        return learnt
    return replace(learnt, next_ok_at=instant(next_ok_at), blocked_reason=reason)


def binds_siblings(given: ReleasedLane) -> bool:
    """True for a lane of several of its host that was asked to wait: it binds the others."""
    return is_split(given.lane.key) and given.pace.blocked_reason is not None


def shards_of_worker(name: str, live: Sequence[str]) -> frozenset[int]:
    """The shards for which `name` has the highest draw; who leaves hands over only its own."""
    return frozenset(
        shard for shard in range(SHARDS) if max(live, key=lambda one: _draw(one, shard)) == name
    )


def _draw(name: str, shard: int) -> bytes:
    return blake2b(f"{shard}/{name}".encode(), digest_size=8).digest()
