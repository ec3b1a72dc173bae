"""What one process keeps in mind about claiming: its own shards, and where the due lanes begin.

All of it is a preference. Who holds a lane is decided by its row, so a list of workers that is out of
date, or a mark that is wrong, costs time and never a host its peace.

Own shards: the live workers share the shards by rendezvous hashing, so that they do not all reach for
the same rows. When a worker's own do not fill its places it takes from all others at once.

Marks: a row that was claimed leaves a dead entry at the head of its index, and one long transaction
(a dump, a report) keeps all of them there. So each shard has a mark below which nothing is due any
more. Another process may have put a lane below it: now and then the looking begins at the beginning.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple
from zlib import crc32

from feedmill.adapters.store.tables.lanes import SHARDS, shard_of
from feedmill.model.base import Value
from feedmill.model.feed import Claim

SWEEP_CLAIMS: Final = 200
SWEEP_MICROS: Final = 5_000_000
SLACK_MICROS: Final = 10_000_000  # lanes are made due a little in the past all the time

SPLIT: Final = "#"  # between a big host and the number of its lane


class LaneSettings(Value):
    """The first pace of a host, and how many lanes it has."""

    gap_ms: int = 1_000
    lanes: Mapping[str, int] = {}  # how many lanes a big host has; all others have one


class ShardSearch(NamedTuple):
    """Shards to look for due lanes in, each from its mark on."""

    shards: Sequence[int]
    lows: Sequence[int]
    is_sweep: bool = False


class ClaimPlanner:
    """Preferences of one process; correctness never depends on them."""

    def __init__(self) -> None:
        self._own: frozenset[int] = frozenset(range(SHARDS))
        self._live: tuple[str, ...] = ()
        self._start = 0  # no shard is always the first: the next claim goes on after the last
        self._lows = [0] * SHARDS
        self._since_sweep = 0
        self._swept_at = 0
        self._in_vain = 0  # claims that found nothing since the last search below the marks
        self._patience = 1  # how many of them there are before the next one

    def share(self, name: str, live: Sequence[str]) -> None:
        """Take the shards that fall to `name` among the live workers (rendezvous hashing)."""
        names = tuple(sorted({name, *live}))
        if names == self._live:
            return
        is_first = not self._live
        self._live, self._own = names, shards_of_worker(name, names)
        if is_first:
            self._start = min(self._own, default=0)

    def searches(self, now: int) -> tuple[ShardSearch, ...]:
        """Where to look, in this order: the own shards, then all others."""
        self._since_sweep += 1
        is_sweep = self._is_time_to_sweep(now)
        if is_sweep:
            self._since_sweep, self._swept_at = 0, now
        order = [shard % SHARDS for shard in range(self._start, self._start + SHARDS)]
        own = [shard for shard in order if shard in self._own]
        others = [shard for shard in order if shard not in self._own]
        return tuple(
            search
            for search in (self._from(own, is_sweep=is_sweep), self._from(others))
            if search.shards
        )

    def doubt(self) -> ShardSearch | None:
        """Every shard from its beginning, for a claim that found nothing; not if that is in vain."""
        self._in_vain += 1
        if self._in_vain < self._patience:
            return None
        self._in_vain = 0
        return self._from(range(SHARDS), is_sweep=True)

    def searched(
        self, search: ShardSearch, found: Sequence[tuple[int, int]], *, is_full: bool, now: int
    ) -> None:
        """Move the marks after a search that found lanes of these shards, due since then.

        A search that could have taken more has seen all there was. One that was full took the
        oldest of the shards that it took from.
        """
        if search.is_sweep:
            self._patience = 1 if found else min(self._patience * 2, SWEEP_CLAIMS)
        if not is_full:
            for shard in search.shards:
                self._lows[shard] = now - SLACK_MICROS
            return
        newest: dict[int, int] = {}
        for shard, due_at in found:
            newest[shard] = max(due_at, newest.get(shard, due_at))
        for shard, due_at in newest.items():
            self._lows[shard] = due_at

    def claimed(self, claims: Sequence[Claim]) -> None:
        """Note what a claim has brought: the next one begins behind it."""
        ahead = [
            (shard_of(host_of_lane(claim.lane.key)) - self._start) % SHARDS + 1 for claim in claims
        ]
        self._start = (self._start + max(ahead, default=0)) % SHARDS

    def _is_time_to_sweep(self, now: int) -> bool:
        waited = now - self._swept_at
        return self._since_sweep >= SWEEP_CLAIMS or not 0 <= waited < SWEEP_MICROS

    def _from(self, shards: Sequence[int], *, is_sweep: bool = False) -> ShardSearch:
        lows = [0 if is_sweep else self._lows[shard] for shard in shards]
        return ShardSearch(shards, lows, is_sweep)


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
