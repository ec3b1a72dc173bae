"""Table `lanes`: when a lane is due, and the pace of its host. Claims, releases and the layout of lanes are in each database's store.

Whatever changes what is due locks the lane first, and reads the feeds after that. Otherwise a feed that
is added while its lane is given back would wait with it.

When the clock was set back, what was dated by a clock that ran ahead is taken back (H32). A feed whose last fetch lies in the future was dated by such a clock, and so were its next run and its
host's pause. All of them keep their distance to that fetch, which counts as made just now. So a step of
a day neither stops polling for a day nor polls too early. On PostgreSQL every worker notices the step:
the first one to lock the lanes does the work, the others find it done.
"""
# Tested in tests/unit/adapters/store/sqlite/test_claims_lane_keys.py

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.tables import codec
from feedmill.canonicalise.urls import host_key_of
from feedmill.errors import CursorError, DamagedRowError, SecretKeyError
from feedmill.model.feed import DamagedFeed, Feed, HostLane, HostPace, Lane
from feedmill.model.page import HostFilter, Page
from feedmill.schedule.host_pace import shift_pace

SHARDS: Final = 1024

# When the first feed of the lane `l` is due.
FIRST_DUE: Final = (
    "coalesce((SELECT min(s.next_run_at) FROM feed_sched s"
    f" WHERE s.lane_id = l.lane_id AND s.paused = 0), {codec.NEVER})"
)
_DUE_OF_CHOSEN: Final = (
    "SELECT min(@greatest(s.next_run_at, l.claim_at)) FROM feeds f"
    " JOIN feed_sched s ON s.feed_no = f.feed_no JOIN lanes l ON l.lane_id = s.lane_id"
    " WHERE s.paused = 0 AND f.id @in($1)"
)

_PACE: Final = ", ".join(f"l.{name}" for name in codec.PACE_COLUMNS.split(", "))
# Feeds are counted by the index of those that are polled; paused ones wait for nothing.
_HOST_LANES: Final = f"""
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


class ClaimTerms(NamedTuple):
    """What a claim is made for: at most so many lanes, and feeds of each; with `only`, of these feeds."""

    owner: str
    now: datetime
    until: datetime
    max_lanes: int
    max_feeds: int
    only: Sequence[str] | None = None


class ReleasedLane(NamedTuple):
    """A lane with the pace learnt, and the feeds of it that have to wait."""

    lane: Lane
    pace: HostPace
    deferred: Sequence[tuple[str, datetime]] = ()


def shard_of(lane_key: str) -> int:
    """The shard of the lane, by which live workers share the lanes; never changes."""
    return crc32(lane_key.encode()) & (SHARDS - 1)


def provisional_run(until: datetime, interval_sec: float) -> datetime:
    """The next run of a claimed feed: an interval after the lease ends; an hour, where the interval is none."""
    try:
        return until + timedelta(seconds=interval_sec)
    except (OverflowError, ValueError, TypeError):
        return until + timedelta(hours=1)


def read_due(feed_no: int, row: codec.Row) -> Feed | DamagedFeed:
    """The due feed of a row of FEED_COLUMNS; one bad row costs its feed and no other."""
    if row[0] is None:
        why = f"feed_sched: the row with feed_no {feed_no} belongs to no feed"
        return DamagedFeed(id=f"number {feed_no}", why=why)
    try:
        return codec.feed_of(row)
    except (DamagedRowError, SecretKeyError) as problem:
        return DamagedFeed(id=row[0], why=str(problem))


def rests(lane: Lane, now: datetime) -> bool:
    """True while the lane's host may not be asked."""
    return lane.pace.next_ok_at is not None and lane.pace.next_ok_at > now


def host_pace(url: str) -> sql.Query[HostPace | None]:
    """How the URL's host is treated, as last stored; None for an unknown host."""
    paces = yield from sql.rows(
        f"SELECT {codec.PACE_COLUMNS} FROM lanes l WHERE @of_host(l, $1)", host_key_of(url)
    )
    return strictest([codec.pace_of(one) for one in paces])


def strictest(paces: Sequence[HostPace]) -> HostPace | None:
    """One pace that keeps what each of these asks for."""
    if not paces:
        return None
    latest = max(paces, key=_rest)
    blocked = max((pace for pace in paces if pace.blocked_reason), key=_rest, default=latest)
    return replace(
        latest,
        blocked_reason=blocked.blocked_reason,
        slow_down=max(pace.slow_down for pace in paces),
        failures=blocked.failures,
        failing_with=blocked.failing_with,
        limited_urls=tuple(pair for pace in paces for pair in pace.limited_urls),
    )


def _rest(pace: HostPace) -> int:
    return 0 if pace.next_ok_at is None else codec.micros(pace.next_ok_at)


def host_lanes(
    where: HostFilter, *, now: datetime, after: str | None = None, limit: int = 100
) -> sql.Query[Page[HostLane]]:
    """Lanes with their pace and their feeds that are polled, by name; resting ones have one page."""
    parameters: list[Any] = [codec.micros(now), _key_of(after), limit + 1]
    clauses = [_TROUBLED] if where.troubled else []
    clauses += [_RESTING] if where.resting else []
    if where.text:
        parameters.append(f"%{sql.escape_like(where.text.lower())}%")
        clauses.append(f"l.lane_key LIKE ${len(parameters)} ESCAPE '!'")
    if where.host is not None:
        parameters += [where.host, f"{sql.escape_like(where.host)}#%"]
        exact, numbered = len(parameters) - 1, len(parameters)
        clauses.append(f"(l.lane_key = ${exact} OR l.lane_key LIKE ${numbered} ESCAPE '!')")
    chosen = "".join(f" AND {one}" for one in clauses)
    first = "feeds DESC, " if where.resting else ""
    found = yield from sql.rows(
        f"{_HOST_LANES}{chosen} ORDER BY {first}l.lane_key LIMIT $3", *parameters
    )
    if where.resting:
        return Page(items=tuple(map(_host_lane_of, found[:limit])))
    return sql.page_of(found, limit, _host_lane_of, lambda one: str(one[0]).encode().hex())


def _key_of(cursor: str | None) -> str:
    """The key of the last lane that a page showed; CursorError for a cursor of another list."""
    try:
        return bytes.fromhex(cursor or "").decode()
    except ValueError:
        raise CursorError(cursor or "") from None


def _host_lane_of(row: codec.Row) -> HostLane:
    key, *pace, feeds, due = row
    return HostLane(key=key, pace=codec.pace_of(tuple(pace)), feeds=feeds, due=due)


def next_due_at(only: Sequence[str] | None = None) -> sql.Query[datetime | None]:
    """When the next lane can be claimed, for `only` these feeds: it is due, or its lease ends."""
    if only is None:
        earliest = yield from sql.value("SELECT min(claim_at) FROM lanes")
    else:
        earliest = yield from sql.value(_DUE_OF_CHOSEN, list(only))
    return None if earliest is None or earliest >= codec.NEVER else codec.instant(max(earliest, 0))


def due_lanes(now: datetime) -> sql.Query[int]:
    """How many lanes could be claimed now."""
    return sql.value("SELECT count(*) FROM lanes WHERE claim_at <= $1", now)


def lock_lanes(lane_ids: Sequence[int]) -> sql.Query[None]:
    """Keep these lanes from being claimed and released until the transaction ends."""
    yield from sql.lock(
        "SELECT 1 FROM lanes WHERE lane_id @in($1) ORDER BY lane_id FOR NO KEY UPDATE",
        list(lane_ids),
    )


def hasten(lane_id: int, due_at: int) -> sql.Query[None]:
    """Make a free lane due at `due_at` at the latest; a leased one sees to it at release."""
    yield from lock_lanes((lane_id,))
    yield from sql.write(
        "UPDATE lanes SET claim_at = @greatest($2, coalesce(next_ok_at, 0)) WHERE lane_id = $1"
        " AND owner IS NULL AND claim_at > @greatest($2, coalesce(next_ok_at, 0))",
        lane_id,
        due_at,
    )


def reschedule(feed_no: int, next_poll_at: datetime) -> sql.Query[None]:
    """Write the next run of a feed whose lane the caller does not hold."""
    due_at = codec.micros(next_poll_at)
    lane_id = yield from sql.value(
        "UPDATE feed_sched SET next_run_at = $2 WHERE feed_no = $1 RETURNING lane_id",
        feed_no,
        due_at,
    )
    if lane_id is not None:
        yield from hasten(lane_id, due_at)


def renew(lane: Lane, *, owner: str, until: datetime, feeds: Sequence[str] = ()) -> sql.Query[bool]:
    """Hold the lane longer, and the runs of the feeds still to be polled with it; False when lost."""
    held = yield from sql.write(
        "UPDATE lanes SET claim_at = $1 WHERE lane_id = $2 AND epoch = $3 AND owner = $4",
        until,
        lane.id,
        lane.epoch,
        owner,
    )
    if held and feeds:
        yield from sql.write(
            "UPDATE feed_sched AS s SET next_run_at = $1 + @truncated(f.interval_sec * 1000000)"
            " FROM feeds f WHERE f.feed_no = s.feed_no AND f.id @in($2)",
            until,
            list(feeds),
        )
    return held == 1


def is_ahead(now: datetime) -> sql.Query[bool]:
    """Whether a feed was fetched later than now; for a reader, because it looks at all of them."""
    found = yield from sql.value(f"SELECT 1 FROM feeds WHERE {_IS_AHEAD} LIMIT 1", now)
    return found is not None


def follow_clock(now: datetime, lease_sec: float) -> sql.Query[int]:
    """Take back what a clock that ran ahead has dated; the number of feeds."""
    at, lanes = codec.micros(now), dict[int, int]()
    yield from sql.lock(_LOCK_LANES, at)
    # Read only now: another worker that had the lanes may have done all of it.
    feeds = yield from sql.rows(_AHEAD, at)
    for lane_id, ahead in feeds:
        lanes[lane_id] = max(min(ahead, _LONGEST), lanes.get(lane_id, 0))
    yield from sql.write(_RUNS_BACK, at)
    yield from sql.write(_FEEDS_BACK, at)
    paces = yield from sql.rows(
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
    yield from sql.write(_LANES_BACK, codec.json_text(moved))
    # No lease is longer than this; a longer one was given by the clock that ran ahead.
    longest = at + round(lease_sec * 1_000_000)
    yield from sql.lock(_LOCK_LEASES, longest)
    yield from sql.write(
        "UPDATE lanes SET claim_at = $1 WHERE owner IS NOT NULL AND claim_at > $1", longest
    )
    yield from sql.write(
        "UPDATE jobs SET lease_until = $1 WHERE state = 'running' AND lease_until > $1", longest
    )
    return len(feeds)
