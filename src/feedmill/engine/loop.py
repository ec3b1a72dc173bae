"""The scheduler's loop: claim lanes that are due, work them side by side, stop cleanly.

`run_forever` is `feedmill run`; `run_once` is one pass over what is due, at any cadence: by hand,
by cron, by webhook. Two processes on one store share the work: a lane belongs to one at a time.
"""

import asyncio
from datetime import timedelta

from feedmill.engine.lanes import LaneWork
from feedmill.engine.watch import Watch
from feedmill.engine.world import World
from feedmill.model.feed import Claim


async def run_forever(world: World, watch: Watch) -> None:
    """Work until the watch says stop; then finish what is under way, within its limit."""
    workers = _Workers(world, watch)
    try:
        while not watch.is_stopping():
            claimed = await workers.claim()
            if not claimed:
                await watch.pause(await _idle(world))
    finally:
        await workers.drain()


async def run_once(world: World, watch: Watch, *, forced: bool = False) -> None:
    """Work until nothing is due any more; feeds deferred by their host are left for the next time."""
    workers = _Workers(world, watch, forced=forced)
    try:
        while not watch.is_stopping():
            claimed = await workers.claim()
            if claimed:
                continue
            if not workers.busy:
                break
            await workers.one_done()
    finally:
        await workers.drain()


class _Workers:
    """The tasks at work; each owns one lane, and all end with this object."""

    def __init__(self, world: World, watch: Watch, *, forced: bool = False) -> None:
        self.world = world
        self.watch = watch
        self.forced = forced
        self.busy: set[asyncio.Task[None]] = set()
        self.failure: BaseException | None = None

    async def claim(self) -> int:
        """Take as many due lanes as there are free places; waits for a place when there is none."""
        if self.failure is not None:
            raise self.failure
        run = self.world.config.run
        free = run.concurrency - len(self.busy)
        if free <= 0:
            await self.one_done()
            return 1
        claims = await self.world.store.claim(
            self.watch.owner,
            now=self.world.clock.now(),
            lease_sec=run.lease_sec,
            max_lanes=free,
            max_feeds=run.feeds_per_claim,
        )
        for claim in claims:
            self._start(claim)
        return len(claims)

    async def one_done(self) -> None:
        """Wait until a lane is finished, or until the run should end."""
        stop = asyncio.ensure_future(self.watch.pause(3600))
        try:
            await asyncio.wait({*self.busy, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()

    async def drain(self) -> None:
        """Let what is under way finish within its limit; what cannot is cancelled and deferred."""
        if self.busy:
            limit = self.world.config.run.drain_sec
            _, late = await asyncio.wait(self.busy, timeout=limit)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self.failure is not None:
            raise self.failure

    def _start(self, claim: Claim) -> None:
        work = LaneWork(claim, self.world, self.watch, forced=self.forced)
        task = asyncio.create_task(work.run(), name=f"lane {claim.lane.key}")
        self.busy.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self.busy.discard(task)
        if task.cancelled():
            return
        problem = task.exception()
        if problem is not None and self.failure is None:
            # A store or a disk that fails stops the run; a stranger's feed never gets this far.
            self.failure = problem
            self.watch.stop()


async def _idle(world: World) -> float:
    """How long to wait when nothing is due: until the next feed is, but look now and then."""
    longest = world.config.run.idle_sec
    due = await world.store.next_due_at()
    if due is None:
        return longest
    wait = (due - world.clock.now()) / timedelta(seconds=1)
    return min(max(wait, 0.01), longest)
