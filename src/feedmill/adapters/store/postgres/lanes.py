"""Lanes as rows: which one a feed belongs to, when it is due, and the pace of its host.

A host has one lane, or several when it is big. The lanes that stand decide, not the settings of the
process that asks: only `apply_lane_layout` changes how many there are, so that processes with different
settings agree.

A transaction that changes what is due locks the lane first, and reads the feeds after that. Otherwise a feed that is added while its lane is given back would sleep with it.

The number of lanes of a host is brought to what the settings say by `apply_lane_layout`. A host's lanes
change all at once: its feeds move to the lanes they belong to now, and the lanes that are gone take the
leases on them along. The holder of one of them may have a request under way until that lease would have
ended, so the new lanes rest until then: a host is never asked by the old lanes and the new ones at the
same time.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from zlib import crc32

import asyncpg
from msgspec.structs import replace

from feedmill.adapters.store.postgres.parameters import postgres_text
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.lanes import FIRST_DUE, shard_of, strictest
from feedmill.canonicalise.urls import host_key_of
from feedmill.model.base import Value
from feedmill.model.feed import HostPace

SPLIT: Final = "#"  # between a big host and the number of its lane
# The one lane of a host, or one of several, which have an index of their own.
_OF_HOST: Final = "(lane_key = $1 OR (host = $1 AND lane_key <> host))"
_STANDING: Final = (
    f"SELECT lane_id, lane_key FROM lanes WHERE {_OF_HOST} ORDER BY lane_id FOR KEY SHARE"
)
_MAKE: Final = (
    f"INSERT INTO lanes (shard, host, lane_key, claim_at, {codec.PACE_COLUMNS})"
    f" SELECT $1::smallint, $2::text, n.lane_key, {codec.NEVER}, $4::integer, $5::bigint, $6::text,"
    " $7::double precision, $8::integer, $9::text, $10::text, $11::bigint, $12::text"
    " FROM unnest($3::text[]) AS n (lane_key) ON CONFLICT (lane_key) DO NOTHING"
)
_LIMIT: Final = (
    "UPDATE lanes SET next_ok_at = $2, blocked_reason = coalesce($3, blocked_reason),"
    f" claim_at = CASE WHEN owner IS NULL AND claim_at < {codec.NEVER}"
    " THEN greatest(claim_at, $2) ELSE claim_at END"
    f" WHERE {_OF_HOST} AND coalesce(next_ok_at, 0) < $2"
)


_LANES: Final = (
    "SELECT host, lane_key FROM lanes WHERE lane_key = ANY($1::text[])"
    " UNION SELECT host, lane_key FROM lanes WHERE lane_key <> host"
)

_LANES_OF: Final = (
    f"SELECT lane_id, lane_key, owner, claim_at, {codec.PACE_COLUMNS} FROM lanes WHERE {_OF_HOST}"
    " ORDER BY lane_id"
)

_FEEDS_OF: Final = (
    "SELECT s.feed_no, f.id FROM feed_sched s JOIN feeds f ON f.feed_no = s.feed_no"
    " WHERE s.lane_id = ANY($1::bigint[])"
)

_MOVE: Final = (
    "UPDATE feed_sched s SET lane_id = n.lane_id FROM unnest($1::bigint[], $2::bigint[])"
    " AS n (feed_no, lane_id) WHERE s.feed_no = n.feed_no AND s.lane_id <> n.lane_id"
)

# A lane that stays has been leased under another layout: its epoch ends that as well.
_BEGIN: Final = (
    "UPDATE lanes l SET owner = NULL, epoch = l.epoch + 1, gap_ms = $2, next_ok_at = $3::bigint,"
    " blocked_reason = $4, slow_down = $5, failures = $6, failing_with = $7, limited_urls = $8,"
    " troubled_since = $9, canary = $10,"
    f" claim_at = greatest({FIRST_DUE}, coalesce($3::bigint, 0)) WHERE {_OF_HOST}"
)


class LaneSettings(Value):
    """The first pace of a host, and how many lanes it has."""

    gap_ms: int = 1_000
    lanes: Mapping[str, int] = {}  # how many lanes a big host has; all others have one


async def lane_of(connection: PgConnection, url: str, pacing: LaneSettings, feed_id: str) -> int:
    """The number of the lane that a feed at this URL belongs to, made when it is the first there.

    The lane is locked against deletion until the transaction ends.
    """
    host = postgres_text(host_key_of(url))
    while True:
        lanes = await _standing(connection, host)
        keys = _layout(host, lanes, pacing)
        key = keys[lane_number(feed_id, len(keys))]
        if key in lanes:
            return lanes[key]
        await _make(connection, host, keys, pacing)


async def limit_host(
    connection: PgConnection, url: str, until: datetime, reason: str | None, pacing: LaneSettings
) -> None:
    """Send no request to the URL's host before `until`; a longer pause stays as it is.

    A worker that holds a lane of it finishes its work and takes the pause over at release.
    """
    host = postgres_text(host_key_of(url))
    if not await _standing(connection, host):
        await _make(connection, host, lane_keys(host, pacing.lanes.get(host, 1)), pacing)
    await limit_lanes(connection, host, codec.micros(until), reason)


async def limit_lanes(connection: PgConnection, host: str, at: int, reason: str | None) -> None:
    """Let every lane of the host rest until `at`, or longer if it does already."""
    await lock_host_lanes(connection, host)
    await connection.execute(_LIMIT, host, at, reason)


async def lock_host_lanes(connection: PgConnection, host: str) -> None:
    """Lock every lane of a host, in their order."""
    await connection.execute(
        f"SELECT 1 FROM lanes WHERE {_OF_HOST} ORDER BY lane_id FOR NO KEY UPDATE", host
    )


async def make_lanes(
    connection: PgConnection, host: str, keys: Sequence[str], pace: HostPace
) -> None:
    """Make those of the lanes that are not there, all at this pace."""
    await connection.execute(_MAKE, shard_of(host), host, keys, *codec.pace_row(pace))


async def apply_lane_layout(database: Database, pacing: LaneSettings) -> int:
    """Give every big host its lanes, and every other host one; how many hosts were changed."""
    standing = await database.read(lambda c: c.fetch(_LANES, list(pacing.lanes)))
    keys: dict[str, set[str]] = {}
    for host, key in map(tuple, standing):
        keys.setdefault(host, set()).add(key)
    wrong = [host for host, found in keys.items() if not _fits(host, found, pacing.lanes)]
    return sum([await _relane_host(database, host, pacing) for host in sorted(wrong)])


async def _standing(connection: PgConnection, host: str) -> dict[str, int]:
    """The host's lanes by their names; locked against deletion until the transaction ends."""
    # What a lock was waited for may be gone, and what stands instead is seen only afterwards.
    rows = await connection.fetch(_STANDING, host) or await connection.fetch(_STANDING, host)
    return {row["lane_key"]: row["lane_id"] for row in rows}


async def _make(
    connection: PgConnection, host: str, keys: Sequence[str], pacing: LaneSettings
) -> None:
    """Make the lanes of a host, or those that are missing; new ones rest as long as the others."""
    rows = await connection.fetch(f"SELECT {codec.PACE_COLUMNS} FROM lanes WHERE {_OF_HOST}", host)
    pace = strictest([codec.pace_of(tuple(row)) for row in rows])
    await make_lanes(connection, host, keys, pace or HostPace(gap_ms=pacing.gap_ms * len(keys)))


def _layout(host: str, standing: Collection[str], pacing: LaneSettings) -> tuple[str, ...]:
    """The lanes of the host as they stand, or as it would be given them.

    Retention takes lanes without feeds, so some of several may be missing.
    """
    numbers = [int(key[len(host) + 1 :]) for key in standing if key != host]
    if numbers:
        return tuple(f"{host}{SPLIT}{number}" for number in range(max(numbers) + 1))
    return (host,) if standing else lane_keys(host, pacing.lanes.get(host, 1))


async def _relane_host(database: Database, host: str, pacing: LaneSettings) -> bool:
    return await database.write(lambda c: _change(c, host, pacing))


async def _change(connection: PgConnection, host: str, pacing: LaneSettings) -> bool:
    """Move the feeds of one host to the lanes it should have; False when another process has done it."""
    await connection.execute(
        f"SELECT 1 FROM lanes WHERE {_OF_HOST} ORDER BY lane_id FOR UPDATE", host
    )
    # Read only now: another process that had the lanes may have made others.
    rows = await connection.fetch(_LANES_OF, host)
    if not rows or _fits(host, {row["lane_key"] for row in rows}, pacing.lanes):
        return False
    pace = _pace(rows)
    keys = lane_keys(host, pacing.lanes.get(host, 1))
    await make_lanes(connection, host, keys, pace)
    lanes = {row["lane_key"]: row["lane_id"] for row in await connection.fetch(_LANES_OF, host)}
    await _move_feeds(connection, list(lanes.values()), [lanes[key] for key in keys])
    gone = [lane_id for key, lane_id in lanes.items() if key not in keys]
    await connection.execute("DELETE FROM lanes WHERE lane_id = ANY($1::bigint[])", gone)
    paced = replace(pace, gap_ms=pacing.gap_ms * len(keys))
    await connection.execute(_BEGIN, host, *codec.pace_row(paced))
    return True


async def _move_feeds(
    connection: PgConnection, lanes: Sequence[int], targets: Sequence[int]
) -> None:
    rows = await connection.fetch(_FEEDS_OF, lanes)
    numbers = [row["feed_no"] for row in rows]
    homes = [targets[lane_number(row["id"], len(targets))] for row in rows]
    await connection.execute(_MOVE, numbers, homes)


def _pace(rows: "Sequence[asyncpg.Record]") -> HostPace:
    """The strictest of the paces, resting until the last lease would have ended."""
    paces = [codec.pace_of(tuple(row)[4:]) for row in rows]
    for row in rows:
        if row["owner"] is not None:
            paces.append(replace(paces[0], next_ok_at=codec.instant(row["claim_at"])))
    pace = strictest(paces) or paces[0]
    return replace(pace, limited_urls=tuple(dict.fromkeys(pace.limited_urls)))


def _fits(host: str, found: set[str], lanes: Mapping[str, int]) -> bool:
    """True when the lanes are some of those that the host should have: empty ones may be missing."""
    return found <= set(lane_keys(host, lanes.get(host, 1)))


def lane_keys(host: str, lanes: int) -> tuple[str, ...]:
    """The names of a host's lanes."""
    return (host,) if lanes <= 1 else tuple(f"{host}{SPLIT}{n}" for n in range(lanes))


def lane_number(feed_id: str, lanes: int) -> int:
    """Which of so many lanes of its host a feed belongs to."""
    return crc32(feed_id.encode()) % lanes


def host_of_lane(lane_key: str) -> str:
    """The host of a lane."""
    return lane_key.rpartition(SPLIT)[0] if is_split(lane_key) else lane_key


def is_split(lane_key: str) -> bool:
    """True for one of several lanes of a host."""
    host, _, number = lane_key.rpartition(SPLIT)
    return host != "" and number.isascii() and number.isdigit()
