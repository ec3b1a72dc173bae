"""What one process keeps in mind about claiming: its own shards, and where the due lanes begin.

All of it is a preference. Who holds a lane is decided by its row, so a list of workers that is out of
date, or a mark that is wrong, costs time and never a host its peace.

Own shards: the live workers share the shards by rendezvous hashing, so that they do not all reach for
the same rows. When a worker's own do not fill its places it takes from all others at once. The oldest come first.

Marks: a row that was claimed leaves a dead entry at the head of the index, and one long transaction
(a dump, a report) keeps all of them there. So the own shards have a mark below which nothing is due any
more, and all others one. Another process may have put a lane below it: now and then the looking begins at the beginning.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple
from zlib import crc32

from feedmill.adapters.store.tables.lanes import SHARDS
from feedmill.model.base import Value

SWEEP_CLAIMS: Final = 200
SWEEP_MICROS: Final = 5_000_000
SLACK_MICROS: Final = 10_000_000  # lanes are made due a little in the past all the time

_ALL: Final = tuple(range(SHARDS))
SPLIT: Final = "#"  # between a big host and the number of its lane


class LaneSettings(Value):
    """The first pace of a host, and how many lanes it has."""

    gap_ms: int = 1_000
    lanes: Mapping[str, int] = {}  # how many lanes a big host has; all others have one


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


def shards_of_worker(name: str, live: Sequence[str]) -> frozenset[int]:
    """The shards for which `name` has the highest draw; who leaves hands over only its own."""
    return frozenset(
        shard for shard in range(SHARDS) if max(live, key=lambda one: _draw(one, shard)) == name
    )


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


def _draw(name: str, shard: int) -> bytes:
    return blake2b(f"{shard}/{name}".encode(), digest_size=8).digest()
