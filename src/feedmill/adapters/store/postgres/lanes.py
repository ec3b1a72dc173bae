"""Lanes as rows: which one a feed belongs to, when it is due, and the pace of its host.

A host has one lane, or several when it is big. The lanes that stand decide, not the settings of the
process that asks: only `layout` changes how many there are, so that processes with different
settings agree.

A transaction that changes what is due locks the lane first, and reads the feeds after that. Otherwise a feed that is added while its lane is given back would sleep with it.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from feedmill.adapters.store.postgres.claim_planner import (
    SPLIT,
    LaneSettings,
    lane_keys,
    lane_number,
)
from feedmill.adapters.store.postgres.parameters import postgres_text
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import NEVER, PACE_COLUMNS, micros, pace_of, pace_row
from feedmill.adapters.store.tables.lanes import lane_key_of, shard_of
from feedmill.model.feed import HostPace

_STANDING: Final = (
    "SELECT lane_id, lane_key FROM lanes WHERE host = $1 ORDER BY lane_id FOR KEY SHARE"
)
_MAKE: Final = (
    f"INSERT INTO lanes (shard, host, lane_key, claim_at, {PACE_COLUMNS})"
    f" SELECT $1::smallint, $2::text, n.lane_key, {NEVER}, $4::integer, $5::bigint, $6::text,"
    " $7::double precision, $8::integer, $9::text, $10::text"
    " FROM unnest($3::text[]) AS n (lane_key) ON CONFLICT (lane_key) DO NOTHING"
)
_LIMIT: Final = (
    "UPDATE lanes SET next_ok_at = $2, blocked_reason = coalesce($3, blocked_reason),"
    f" claim_at = CASE WHEN owner IS NULL AND claim_at < {NEVER}"
    " THEN greatest(claim_at, $2) ELSE claim_at END"
    " WHERE host = $1 AND coalesce(next_ok_at, 0) < $2"
)


async def lane_of(connection: PgConnection, url: str, pacing: LaneSettings, feed_id: str) -> int:
    """The number of the lane that a feed at this URL belongs to, made when it is the first there.

    The lane is locked against deletion until the transaction ends.
    """
    host = postgres_text(lane_key_of(url))
    while True:
        lanes = await _standing(connection, host)
        keys = _layout(host, lanes, pacing)
        key = keys[lane_number(feed_id, len(keys))]
        if key in lanes:
            return lanes[key]
        await _make(connection, host, keys, pacing)


async def host_pace(connection: PgConnection, url: str) -> HostPace | None:
    """How the URL's host is treated, as last stored; None for an unknown host.

    Of several lanes the strictest speaks for the host.
    """
    rows = await connection.fetch(
        f"SELECT {PACE_COLUMNS} FROM lanes WHERE host = $1", postgres_text(lane_key_of(url))
    )
    return strictest([pace_of(tuple(row)) for row in rows])


async def limit_host(
    connection: PgConnection, url: str, until: datetime, reason: str | None, pacing: LaneSettings
) -> None:
    """Send no request to the URL's host before `until`; a longer pause stays as it is.

    A worker that holds a lane of it finishes its work and takes the pause over at release.
    """
    host = postgres_text(lane_key_of(url))
    if not await _standing(connection, host):
        await _make(connection, host, lane_keys(host, pacing.lanes.get(host, 1)), pacing)
    await limit_lanes(connection, host, micros(until), reason)


async def limit_lanes(connection: PgConnection, host: str, at: int, reason: str | None) -> None:
    """Let every lane of the host rest until `at`, or longer if it does already."""
    await lock_host_lanes(connection, host)
    await connection.execute(_LIMIT, host, at, reason)


async def lock_host_lanes(connection: PgConnection, host: str) -> None:
    """Lock every lane of a host, in their order."""
    await connection.execute(
        "SELECT 1 FROM lanes WHERE host = $1 ORDER BY lane_id FOR NO KEY UPDATE", host
    )


async def make_lanes(
    connection: PgConnection, host: str, keys: Sequence[str], pace: HostPace
) -> None:
    """Make those of the lanes that are not there, all at this pace."""
    await connection.execute(_MAKE, shard_of(host), host, keys, *pace_row(pace))


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


async def _standing(connection: PgConnection, host: str) -> dict[str, int]:
    """The host's lanes by their names; locked against deletion until the transaction ends."""
    # What a lock was waited for may be gone, and what stands instead is seen only afterwards.
    rows = await connection.fetch(_STANDING, host) or await connection.fetch(_STANDING, host)
    return {row["lane_key"]: row["lane_id"] for row in rows}


async def _make(
    connection: PgConnection, host: str, keys: Sequence[str], pacing: LaneSettings
) -> None:
    """Make the lanes of a host, or those that are missing; new ones rest as long as the others."""
    rows = await connection.fetch(f"SELECT {PACE_COLUMNS} FROM lanes WHERE host = $1", host)
    pace = strictest([pace_of(tuple(row)) for row in rows])
    await make_lanes(connection, host, keys, pace or HostPace(gap_ms=pacing.gap_ms * len(keys)))


def _layout(host: str, standing: Collection[str], pacing: LaneSettings) -> tuple[str, ...]:
    """The lanes of the host as they stand, or as it would be given them.

    Retention takes lanes without feeds, so some of several may be missing.
    """
    numbers = [int(key[len(host) + 1 :]) for key in standing if key != host]
    if numbers:
        return tuple(f"{host}{SPLIT}{number}" for number in range(max(numbers) + 1))
    return (host,) if standing else lane_keys(host, pacing.lanes.get(host, 1))


def _rest(pace: HostPace) -> int:
    return 0 if pace.next_ok_at is None else micros(pace.next_ok_at)
