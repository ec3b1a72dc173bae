"""A leased lane: its pace as it changes, and how long the lease lasts (D24).

Used by all that send requests under a lane: polls (poll/lane_worker.py) and background jobs
(jobs/runner.py). The deadline is kept on the monotonic clock. No request starts that could outlast
it; a lease that is too short for the next request is renewed first.
"""
# Tested in tests/integration/engine/poll/test_lane_worker_host_pause.py

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.ports.io import Clock
from feedmill.engine.run.lifecycle import Backoff, Lifecycle, is_transient, retry
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.feed import HostPace, Lane
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import (
    host_wait_sec,
    limited_until,
    pace_after,
    pause_until,
    shift_pace,
)

_COMMIT_SEC: Final = 5.0  # of a lease beyond a request: for reading and committing
# Timers of the event loop count in milliseconds and round: one may fire half of one too early.
_TIMER_SEC: Final = 0.001
CLOCK_STEP_SEC: Final = 60.0  # of a clock that was set back; less is drift, and no harm
FORWARD_STEP_SEC: Final = 1.0  # of one that was set forward: more would skip a gap


def clock_ahead_sec(clock: Clock) -> float:
    """How far the wall clock is ahead of the monotonic one; it changes only when it is set."""
    return clock.now().timestamp() - clock.monotonic()


class LaneLease:
    """A lane that this process holds; `url` is any address of its host."""

    def __init__(
        self, lane: Lane, url: str, services: Services, lifecycle: Lifecycle, *, claimed_at: float
    ) -> None:
        self.lane, self._url = lane, url
        self._services, self._lifecycle = services, lifecycle
        self.pace: HostPace = lane.pace
        self.deadline = claimed_at + services.config.run.lease_sec
        self.backoff = Backoff("write", lifecycle)
        self.is_released = False
        self._clock_ahead_sec = clock_ahead_sec(services.clock)
        self._keeping: asyncio.Task[None] | None = None

    async def may_send(self, *, left: Collection[str] = ()) -> bool:
        """Wait for the host's gap if that is short; False when the rest has to wait longer.

        The wait is computed once from the wall clock and waited on the monotonic one (H32). `left`
        are feeds still to be polled under the lease.
        """
        now = self._follow_clock()
        if self.lane.has_siblings:
            await self._apply_sibling_pause()
            now = self._services.clock.now()
        wait = host_wait_sec(self.pace, now)
        if self._lifecycle.is_stopping() or wait > self._max_gap_wait():
            return False
        if wait > 0:
            await self._lifecycle.sleep_unless_stopping(wait + _TIMER_SEC)
        return not self._lifecycle.is_stopping() and await self.has_time(left=left)

    async def has_time(self, *, left: Collection[str] = ()) -> bool:
        """True when a whole fetch fits into the lease; it is renewed when it does not.

        The renewal takes time itself: what counts is how long the lease lasts from now.
        """
        clock, lease = self._services.clock, self._services.config.run.lease_sec
        fetch_sec = self._services.config.fetch.timeout_ms / 1000
        needed = fetch_sec + _COMMIT_SEC
        if self.deadline - clock.monotonic() >= needed:
            return True
        if not await self._renew(left):
            return False
        remaining = self.deadline - clock.monotonic()
        return lease >= needed and remaining >= fetch_sec + _COMMIT_SEC / 2

    def keep(self, *, left: Collection[str] = ()) -> None:
        """Renew the lease in good time from now on: for a large document, which waits for its turn."""
        self._keeping = asyncio.create_task(self._keep(left), name=f"lease {self.lane.key}")

    def stop_keeping(self) -> None:
        """Let the lease run: what follows is short, and may give the lane back."""
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None

    def limited_until(self, url: str) -> datetime | None:
        """Until when this URL has a Retry-After of its own; the others of its host go on."""
        if not self.pace.limited_urls:
            return None
        return limited_until(self.pace, url, self._services.clock.now())

    async def update_pace(self, url: str, outcome: Outcome, ended_at: datetime) -> None:
        """Update the pace after an answer; a pause is stored at once, for all lanes of the host."""
        self._follow_clock()
        self.pace = pace_after(
            self.pace, url, outcome, ended_at=ended_at, config=self._services.config.host
        )
        if outcome.kind != "failed":
            return
        until, reason = pause_until(self.pace, ended_at=ended_at), self.pace.blocked_reason
        if until is not None:
            await retry(
                lambda: self._services.store.limit_host(url, until, reason),
                self.backoff,
                has_time=self.is_leased,
            )

    def is_leased(self) -> bool:
        """True while the lease lasts; then another worker may claim the lane."""
        return self._services.clock.monotonic() < self.deadline

    async def release(self, deferred: Sequence[tuple[str, datetime]] = ()) -> None:
        """Release the lane, once; when that fails for long, its lease ends by itself."""
        if self.is_released:
            return
        self.is_released = True
        self._follow_clock()
        await retry(
            lambda: self._services.store.release(
                self.lane, self.pace, now=self._services.clock.now(), deferred=deferred
            ),
            self.backoff,
            has_time=self.is_leased,
        )

    async def _keep(self, left: Collection[str]) -> None:
        part_sec = self._services.config.run.lease_sec / 4
        while True:
            await asyncio.sleep(self.deadline - 3 * part_sec - self._services.clock.monotonic())
            try:
                if not await self._renew(left):
                    return
            except FeedmillError as problem:  # the commit will meet it too, and retry
                if not is_transient(problem):
                    return
                await asyncio.sleep(part_sec / 8)

    async def _renew(self, left: Collection[str]) -> bool:
        """Hold the lane for a whole lease from now on; False when another worker has claimed it."""
        clock, lease = self._services.clock, self._services.config.run.lease_sec
        began = clock.monotonic()
        held = await self._services.store.renew(
            self.lane,
            owner=self._lifecycle.owner,
            until=clock.now() + timedelta(seconds=lease),
            feeds=sorted(left),
        )
        if held:
            self.deadline = began + lease
        else:
            self._lifecycle.on_lease_lost(self.lane.key)
        return held

    async def _apply_sibling_pause(self) -> None:
        """Applies a Retry-After that a sibling lane of the same host received."""
        stored = await self._services.store.host_pace(self._url)
        if stored is None or stored.blocked_reason is None or stored.next_ok_at is None:
            return
        if self.pace.next_ok_at is None or self.pace.next_ok_at < stored.next_ok_at:
            self.pace = replace(
                self.pace, next_ok_at=stored.next_ok_at, blocked_reason=stored.blocked_reason
            )

    def _follow_clock(self) -> datetime:
        """Keep gaps and pauses as long as they were when the wall clock was set (H32); what it says now."""
        clock = self._services.clock
        now = clock.now()
        ahead = now.timestamp() - clock.monotonic()
        step_sec, self._clock_ahead_sec = ahead - self._clock_ahead_sec, ahead
        if not -CLOCK_STEP_SEC <= step_sec <= FORWARD_STEP_SEC:
            self.pace = shift_pace(self.pace, timedelta(seconds=step_sec))
        return now

    def _max_gap_wait(self) -> float:
        return min(10.0, self._services.config.run.lease_sec / 4)
