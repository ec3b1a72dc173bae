"""Scheduler loop: claims due lanes, polls them concurrently, drains on shutdown.

`run_forever` is `feedmill run`; `run_once` is one pass over what is due, at any cadence: by hand,
by cron, by webhook. Two processes on one store share the work: a lane belongs to one at a time.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from feedmill.engine.poll.lane_worker import LaneWorker
from feedmill.engine.run.lane_lease import CLOCK_STEP_SEC, FORWARD_STEP_SEC, clock_ahead_sec
from feedmill.engine.run.lifecycle import STORE_AWAY, Backoff, Lifecycle, is_transient
from feedmill.engine.run.services import Services
from feedmill.errors import DAMAGE, DAMAGED_ROW, FeedmillError, StoreError
from feedmill.model.feed import Claim
from feedmill.schedule.host_pace import gap_ms

_WHOLE_LANE: Final = 100_000  # feeds
_RELEASE_SEC: Final = 1.0  # for a cancelled worker to release its lane


async def run_forever(services: Services, lifecycle: Lifecycle) -> None:
    """Poll until the run is stopped; then finish what is under way, within its limit (graceful shutdown).

    A full disk, or a store that another program locks, is retried with backoff: meanwhile no request
    is sent, but for one lane at a time to see whether it works again.
    """
    workers = _Workers(services, lifecycle, retries=True)
    await workers.follow_clock()
    try:
        while not lifecycle.is_stopping():
            await workers.backoff.wait()
            try:
                if not await workers.claim():
                    workers.nothing_due()
                    await lifecycle.sleep_unless_stopping(await _idle(services))
            except FeedmillError as problem:
                workers.backoff.failed(problem)
    finally:
        await workers.drain()


async def run_once(
    services: Services,
    lifecycle: Lifecycle,
    *,
    forced: bool = False,
    only: Sequence[str] | None = None,
) -> None:
    """Poll every due feed once; feeds deferred by their host, or due again meanwhile, are left for the next time.

    A lane is taken whole, and one that only waits for its gap is waited for. With `only`, all
    other feeds are left alone.
    """
    workers = _Workers(services, lifecycle, forced=forced, feeds_per_claim=_WHOLE_LANE, only=only)
    workers.polled = set()
    await workers.follow_clock()
    wait_until = services.clock.monotonic() + _max_gap_wait(services)
    try:
        while not lifecycle.is_stopping():
            if await workers.claim():
                continue
            if workers.busy:
                await workers.one_done()
                continue
            wait = await _until_due(services, only)
            if wait is None or services.clock.monotonic() + wait >= wait_until:
                break
            await lifecycle.sleep_unless_stopping(max(wait, 0.01))
    finally:
        await workers.drain()


class _Workers:
    """The running lane workers, one task each; all end with this object."""

    def __init__(
        self,
        services: Services,
        lifecycle: Lifecycle,
        *,
        forced: bool = False,
        feeds_per_claim: int | None = None,
        retries: bool = False,
        only: Sequence[str] | None = None,
    ) -> None:
        self.services = services
        self.lifecycle = lifecycle
        lifecycle.started_at = services.clock.now()
        self.forced = forced
        self.retries = retries
        self.only = only
        self.feeds_per_claim = feeds_per_claim or services.config.run.feeds_per_claim
        self.clock_ahead_sec = clock_ahead_sec(services.clock)
        self.dated_before_step: set[asyncio.Task[None]] = set()  # may yet commit by the old clock
        self.busy: set[asyncio.Task[None]] = set()
        self.lane_done: asyncio.Future[None] | None = None  # what `one_done` waits for
        self.polled: set[str] | None = None  # in this pass; None: in a run that has no end
        self.held: list[Claim] = []  # lanes whose due feeds were all polled in this pass
        self.failure: BaseException | None = None
        self.backoff = Backoff("run", lifecycle)

    async def claim(self) -> int:
        """Take as many due lanes as there are free places; waits for a place when there is none."""
        if self.failure is not None:
            raise self.failure
        run = self.services.config.run
        free = (1 if self.backoff.active else run.concurrency) - len(self.busy) + self._waiting()
        if free <= 0:
            await self.one_done()
            return 1
        await self._notice_clock()
        claimed_at = self.services.clock.monotonic()
        claiming = self.services.store.claim(
            self.lifecycle.owner,
            now=self.services.clock.now(),
            lease_sec=run.lease_sec,
            max_lanes=free,
            max_feeds=self.feeds_per_claim,
            only=self.only,
        )
        try:
            claims = await self.lifecycle.unless_stopping(claiming, _RELEASE_SEC)
        except TimeoutError:
            return 0
        self.lifecycle.on_poll_loop("polls")
        for claim in claims:
            for one in claim.damaged:
                problem = StoreError(one.why, reason=DAMAGED_ROW)
                self.lifecycle.on_crash(one.id, None, problem)
            if self.polled and claim.feeds and {feed.id for feed in claim.feeds} <= self.polled:
                self.held.append(claim)
            elif claim.feeds:
                self._start(claim, claimed_at)
            else:
                now = self.services.clock.now()
                await self.services.store.release(claim.lane, claim.lane.pace, now=now)
        return len(claims)

    def _waiting(self) -> int:
        """Lanes that wait for their turn with a large document: so many take no other's place."""
        memory = self.services.memory
        most = self.services.config.run.concurrency
        return 0 if memory is None or self.backoff.active else min(memory.large_polls, most)

    def nothing_due(self) -> None:
        """The store answers: if it was away, it is back, with or without work to do."""
        if not self.busy and self.backoff.reason in STORE_AWAY:
            self.backoff.succeeded()

    async def follow_clock(self) -> None:
        """Correct due times that were stored while the clock was ahead."""
        lease_sec, now = self.services.config.run.lease_sec, self.services.clock.now()
        try:
            await self.services.store.follow_clock(now, lease_sec=lease_sec)
        except StoreError as problem:
            # It reads all feeds, and one that cannot be read stops no other.
            if problem.reason not in DAMAGE:
                raise
            self.lifecycle.on_store_error("follow the clock", problem, 0.0)

    async def one_done(self) -> None:
        """Wait until a lane is finished, or until the run should end."""
        self.lane_done = asyncio.get_running_loop().create_future()
        await self.lifecycle.wait_for(self.lane_done)

    async def drain(self) -> None:
        """Let what is under way finish within its limit; what cannot is cancelled and deferred.

        A second signal shortens the limit, not the time to release: a lane that is not released
        would wait for a whole lease.
        """
        try:
            if self.busy:
                await asyncio.wait(self.busy, timeout=self.services.config.run.drain_sec)
        finally:
            late = set(self.busy)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_RELEASE_SEC)
            await self._release_held()
        if self.failure is not None:
            raise self.failure

    async def _release_held(self) -> None:
        """Release the lanes that were kept from being claimed again; their feeds are due as before."""
        for claim in self.held:
            due = zip((feed.id for feed in claim.feeds), claim.scheduled_at, strict=True)
            await self.services.store.release(
                claim.lane, claim.lane.pace, now=self.services.clock.now(), deferred=tuple(due)
            )

    async def _notice_clock(self) -> None:
        before, self.clock_ahead_sec = self.clock_ahead_sec, clock_ahead_sec(self.services.clock)
        if self.clock_ahead_sec > before + FORWARD_STEP_SEC:
            # By the new time the gap of every host is over: keep it once more on the monotonic clock (H32).
            gap_sec = gap_ms(self.services.config.host) / 1000
            await self.lifecycle.sleep_unless_stopping(gap_sec)
        is_set_back = self.clock_ahead_sec < before - CLOCK_STEP_SEC
        if is_set_back or self.dated_before_step - self.busy:
            await self.follow_clock()
        self.dated_before_step &= self.busy
        if is_set_back:
            self.dated_before_step |= self.busy

    def _start(self, claim: Claim, claimed_at: float) -> None:
        work = LaneWorker(
            claim,
            self.services,
            self.lifecycle,
            claimed_at=claimed_at,
            forced=self.forced,
            polled=self.polled,
        )
        task = asyncio.create_task(work.run(), name=f"lane {claim.lane.key}")
        self.busy.add(task)
        self.lifecycle.lanes = len(self.busy)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self.busy.discard(task)
        self.lifecycle.lanes = len(self.busy)
        if self.lane_done is not None and not self.lane_done.done():
            self.lane_done.set_result(None)
        if task.cancelled():
            return
        problem = task.exception()
        if problem is None:
            self.backoff.succeeded()
        elif self.retries and isinstance(problem, FeedmillError) and is_transient(problem):
            self.backoff.failed(problem)
        elif self.failure is None:
            # A broken store stops the run; a broken feed never gets this far.
            self.failure = problem
            self.lifecycle.stop()


def _max_gap_wait(services: Services) -> float:
    """How long one pass waits for hosts that rest: for gaps, never until a feed is due again."""
    return min(10.0, services.config.schedule.min_interval_sec / 2)


async def _idle(services: Services) -> float:
    """How long to wait when nothing is due: until the next feed is, but look now and then."""
    longest = services.config.run.idle_sec
    wait = await _until_due(services, None)
    return longest if wait is None else min(max(wait, 0.01), longest)


async def _until_due(services: Services, only: Sequence[str] | None) -> float | None:
    """Seconds until a lane can be claimed; None when none ever can."""
    due = await services.store.next_due_at(only)
    return None if due is None else (due - services.clock.now()) / timedelta(seconds=1)
