"""How many lanes a host has, brought to what the settings say.

A host's lanes change all at once: its feeds move to the lanes they belong to now, and the lanes that
are gone take the leases on them along. The holder of one of them may have a request under way until
that lease would have ended, so the new lanes rest until then: a host is never asked by the old
lanes and the new ones at the same time.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Mapping, Sequence
from typing import Final

import asyncpg
from msgspec.structs import replace

from feedmill.adapters.store.postgres.claim_planner import LaneSettings, lane_keys, lane_number
from feedmill.adapters.store.postgres.lanes import make_lanes, strictest
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import PACE_COLUMNS, instant, pace_of, pace_row
from feedmill.adapters.store.tables.lanes import FIRST_DUE
from feedmill.model.feed import HostPace

_LANES: Final = (
    "SELECT host, lane_key FROM lanes WHERE host = ANY($1::text[])"
    " UNION SELECT host, lane_key FROM lanes WHERE lane_key <> host"
)
_LANES_OF: Final = (
    f"SELECT lane_id, lane_key, owner, claim_at, {PACE_COLUMNS} FROM lanes WHERE host = $1"
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
    f" claim_at = greatest({FIRST_DUE}, coalesce($3::bigint, 0)) WHERE l.host = $1"
)


async def apply_lane_layout(database: Database, pacing: LaneSettings) -> int:
    """Give every big host its lanes, and every other host one; how many hosts were changed."""
    standing = await database.read(lambda c: c.fetch(_LANES, list(pacing.lanes)))
    keys: dict[str, set[str]] = {}
    for host, key in map(tuple, standing):
        keys.setdefault(host, set()).add(key)
    wrong = [host for host, found in keys.items() if not _fits(host, found, pacing.lanes)]
    return sum([await _relane_host(database, host, pacing) for host in sorted(wrong)])


async def _relane_host(database: Database, host: str, pacing: LaneSettings) -> bool:
    return await database.write(lambda c: _change(c, host, pacing))


async def _change(connection: PgConnection, host: str, pacing: LaneSettings) -> bool:
    """Move the feeds of one host to the lanes it should have; False when another process has done it."""
    await connection.execute(
        "SELECT 1 FROM lanes WHERE host = $1 ORDER BY lane_id FOR UPDATE", host
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
    await connection.execute(_BEGIN, host, *pace_row(paced))
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
    paces = [pace_of(tuple(row)[4:]) for row in rows]
    for row in rows:
        if row["owner"] is not None:
            paces.append(replace(paces[0], next_ok_at=instant(row["claim_at"])))
    pace = strictest(paces) or paces[0]
    return replace(pace, limited_urls=tuple(dict.fromkeys(pace.limited_urls)))


def _fits(host: str, found: set[str], lanes: Mapping[str, int]) -> bool:
    """True when the lanes are some of those that the host should have: empty ones may be missing."""
    return found <= set(lane_keys(host, lanes.get(host, 1)))
