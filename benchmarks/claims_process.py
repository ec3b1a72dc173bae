"""One process that claims, commits and releases, driven line by line: what `claims.py` measures.

Each line on standard input is a JSON command, each answer one line of JSON. Time is an argument of every
claim, so an hour of polls is worked off as fast as the store can.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import uvloop
from tests.support.sample_refreshes import a_refresh

from feedmill.adapters.store.postgres import claims
from feedmill.adapters.store.postgres.claims import ClaimPlanner, ShardSearch
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.tables.codec import instant
from feedmill.adapters.store.tables.lanes import ReleasedLane
from feedmill.model.feed import Claim

PLACES: Final = 64  # lanes asked for at once, as many as a worker has by default
FEEDS: Final = 20  # of one lane at once, likewise
LEASE_SEC: Final = 120.0


def main() -> None:
    uvloop.run(_serve(json.loads(sys.argv[1])))


async def _serve(options: dict[str, Any]) -> None:
    store = await _open(options)
    claiming = Claiming(store, options["name"])
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        answer = await getattr(claiming, command.pop("do"))(**command)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await store.close()


async def _open(options: dict[str, Any]) -> PostgresStore | SqliteStore:
    if "path" in options:
        return await SqliteStore.open(Path(options["path"]), synchronous="full")
    store = await PostgresStore.open(options["dsn"])
    if not options["marks"]:
        store._planner = Unmarked()  # noqa: SLF001  # what the marks are for, shown without them
    return store


class Unmarked(ClaimPlanner):
    """Begins to look at the beginning, always."""

    def _from(self, shards: Sequence[int], low: int = 0, *, is_sweep: bool = False) -> ShardSearch:  # noqa: ARG002  # of the base
        return ShardSearch(shards, 0, is_sweep)


class Claiming:
    """The commands; every one is a coroutine that answers with plain data."""

    def __init__(self, store: PostgresStore | SqliteStore, owner: str) -> None:
        self.store, self.owner = store, owner
        self.took: list[float] = []  # seconds of each claim that brought something
        self.lanes = self.polls = self.run = 0
        self.apart = False

    async def work(
        self, now: int, claimers: int, commits: bool, apart: bool = False
    ) -> dict[str, Any]:
        """Claim and release until nothing is due any more, by so many claimers at once.

        `apart` gives every lane back in a transaction of its own.
        """
        self.apart = apart
        return await self._measured(*(self._empty(now, commits=commits) for _ in range(claimers)))

    async def steps(self, instants: list[int], commits: bool) -> dict[str, Any]:
        """One claim at each of these moments, and what it brought released."""
        return await self._measured(self._walk(instants, commits=commits))

    async def look(self, now: int, times: int) -> dict[str, Any]:
        """Claims that find nothing."""
        return await self._measured(self._find_nothing(now, times))

    async def share(self, live: list[str]) -> dict[str, Any]:
        """Learn who else is at work."""
        if isinstance(self.store, PostgresStore):
            self.store._planner.share(self.owner, live)  # noqa: SLF001  # as a sign of life does
        return {}

    async def _measured(self, *work: Any) -> dict[str, Any]:  # noqa: ANN401  # coroutines
        self.took, self.lanes, self.polls = [], 0, 0
        self.run += 1
        wall, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)
        return {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "lanes": self.lanes,
            "polls": self.polls,
            "took": self.took,
        }

    async def _empty(self, now: int, *, commits: bool) -> None:
        while await self._claim_once(now, commits=commits):
            pass

    async def _walk(self, instants: Sequence[int], *, commits: bool) -> None:
        for now in instants:
            await self._claim_once(now, commits=commits)

    async def _find_nothing(self, now: int, times: int) -> None:
        for _ in range(times):
            began = time.perf_counter()
            found = await self._claim(now)
            self.took.append(time.perf_counter() - began)
            assert not found

    async def _claim_once(self, now: int, *, commits: bool) -> int:
        began = time.perf_counter()
        claims = await self._claim(now)
        if claims:
            self.took.append(time.perf_counter() - began)
        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(self._work_lane(claim, now, commits=commits))
        return len(claims)

    async def _claim(self, now: int) -> tuple[Claim, ...]:
        return await self.store.claim(
            self.owner, now=instant(now), lease_sec=LEASE_SEC, max_lanes=PLACES, max_feeds=FEEDS
        )

    async def _work_lane(self, claim: Claim, now: int, *, commits: bool) -> None:
        """What the engine does with a lane, without asking anybody."""
        at = instant(now)
        for feed, scheduled_at in zip(claim.feeds, claim.scheduled_at, strict=True):
            self.polls += 1
            if commits:
                refresh = a_refresh(
                    feed, self.run, at=at, scheduled_at=scheduled_at, lane=claim.lane
                )
                done = await self.store.commit(refresh)
                assert not done.fenced
                assert not done.duplicate
        self.lanes += 1
        lane, pace = claim.lane, claim.lane.pace
        if self.apart and isinstance(self.store, PostgresStore):
            given = ReleasedLane(lane, pace)
            await self.store.database.write(lambda c: claims.release(c, given))
        else:
            await self.store.release(lane, pace, now=at + timedelta(seconds=1))


if __name__ == "__main__":
    main()
