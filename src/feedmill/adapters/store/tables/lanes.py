"""Table `lanes`: when a lane is due. Claims, releases and the layout of lanes are in each database's store.

Whatever changes what is due locks the lane first, and reads the feeds after that. Otherwise a feed that
is added while its lane is given back would wait with it.
"""

# ruff: noqa: S608  # a number of ours; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zlib import crc32

from feedmill.adapters.store.statements import Query, lock, value, write
from feedmill.adapters.store.tables.codec import NEVER, micros
from feedmill.canonicalise.urls import http_url, split_url

SHARDS: Final = 1024

# When the first feed of the lane `l` is due.
FIRST_DUE: Final = (
    "coalesce((SELECT min(s.next_run_at) FROM feed_sched s"
    f" WHERE s.lane_id = l.lane_id AND s.paused = 0), {NEVER})"
)


def lane_key_of(url: str) -> str:
    """The host, with the port where it is not the scheme's own; both schemes share a lane."""
    href = http_url(url)
    if href is None:
        return url
    parts = split_url(href)
    return f"{parts.host}:{parts.port}" if parts.port else parts.host


def shard_of(lane_key: str) -> int:
    """The shard of the lane, by which live workers share the lanes; never changes."""
    return crc32(lane_key.encode()) & (SHARDS - 1)


def lock_lanes(lane_ids: Sequence[int]) -> Query[None]:
    """Keep these lanes from being claimed and released until the transaction ends."""
    yield from lock(
        "SELECT 1 FROM lanes WHERE lane_id @in($1) ORDER BY lane_id FOR NO KEY UPDATE",
        list(lane_ids),
    )


def hasten(lane_id: int, due_at: int) -> Query[None]:
    """Make a free lane due at `due_at` at the latest; a leased one sees to it at release."""
    yield from lock_lanes((lane_id,))
    yield from write(
        "UPDATE lanes SET claim_at = @greatest($2, coalesce(next_ok_at, 0)) WHERE lane_id = $1"
        " AND owner IS NULL AND claim_at > @greatest($2, coalesce(next_ok_at, 0))",
        lane_id,
        due_at,
    )


def reschedule(feed_no: int, next_poll_at: datetime) -> Query[None]:
    """Write the next run of a feed whose lane the caller does not hold."""
    due_at = micros(next_poll_at)
    lane_id = yield from value(
        "UPDATE feed_sched SET next_run_at = $2 WHERE feed_no = $1 RETURNING lane_id",
        feed_no,
        due_at,
    )
    if lane_id is not None:
        yield from hasten(lane_id, due_at)
