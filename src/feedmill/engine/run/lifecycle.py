"""Stop flag and listeners of a running scheduler."""
# Tested in tests/unit/engine/run/

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

from feedmill.errors import FeedmillError
from feedmill.model.feed import Feed
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.running.job import Job

T = TypeVar("T")

RefreshListener = Callable[[Feed, Refresh, Committed], None]
CrashListener = Callable[[str, str | None, Exception], None]  # id and, if known, URL of a feed
JobCrashListener = Callable[[Job, Exception], None]
PollLoopListener = Callable[[str], None]  # the loop that has looked for work
LeaseLostListener = Callable[[str], None]  # the lane that another worker may claim now
StoreErrorListener = Callable[
    [str, FeedmillError | None, float], None
]  # operation, error (None: it is over), wait before the retry


class Lifecycle:
    """The stop flag of a run, and the listeners that it reports to."""

    def __init__(
        self,
        owner: str,
        listeners: tuple[RefreshListener, ...] = (),
        crash_listeners: tuple[CrashListener, ...] = (),
        store_error_listeners: tuple[StoreErrorListener, ...] = (),
        poll_loop_listeners: tuple[PollLoopListener, ...] = (),
        lease_lost_listeners: tuple[LeaseLostListener, ...] = (),
    ) -> None:
        self.owner = owner
        self.started_at: datetime | None = None  # when this process began to poll
        self.listeners = listeners
        self.crash_listeners = crash_listeners
        self.store_error_listeners = store_error_listeners
        self.poll_loop_listeners = poll_loop_listeners
        self.lease_lost_listeners = lease_lost_listeners
        self.job_crash_listeners: tuple[JobCrashListener, ...] = ()
        self.stop_listeners: tuple[Callable[[], None], ...] = ()
        self.lanes = 0  # at work at the moment
        self.crashes = 0  # polls that failed for reasons of our own
        self._stopping = False
        self._stopped: asyncio.Future[None] | None = None

    def is_stopping(self) -> bool:
        """True once the run was asked to end."""
        return self._stopping

    def stop(self) -> None:
        """Ask the run to end: nothing new is started, what is under way is finished."""
        if not self._stopping:
            for listener in self.stop_listeners:
                listener()
        self._stopping = True
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    async def sleep_unless_stopping(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run should end."""
        await asyncio.wait({self._end()}, timeout=max(seconds, 0.0))

    async def wait_for(self, waited: "asyncio.Future[Any]") -> None:
        """Wait for it, but not past the moment at which the run should end."""
        await asyncio.wait({waited, self._end()}, return_when=asyncio.FIRST_COMPLETED)

    async def unless_stopping(self, work: Coroutine[Any, Any, T], grace_sec: float) -> T:
        """What the work returns; TimeoutError when the run should end and it does not within a grace.

        For work that may wait long: a database that another program locks, a disk that hangs.
        """
        task = asyncio.ensure_future(work)
        try:
            await self.wait_for(task)
            if not task.done():
                await asyncio.wait({task}, timeout=grace_sec)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()

    def on_poll_loop(self, part: str) -> None:
        """Report that a loop of the run has looked for work, whether there was some or not."""
        for listener in self.poll_loop_listeners:
            listener(part)

    def on_refresh(self, before: Feed, result: Refresh, committed: Committed) -> None:
        """Report a refresh to every listener; they must not fail, and they do not wait."""
        for listener in self.listeners:
            listener(before, result, committed)

    def on_lease_lost(self, lane: str) -> None:
        """Report that a lease ended before the work of its lane was done."""
        for listener in self.lease_lost_listeners:
            listener(lane)

    def on_crash(self, feed_id: str, url: str | None, problem: Exception) -> None:
        """Report a bug of our own, or a damaged row; the feed keeps its next run and the others go on."""
        self.crashes += 1
        for listener in self.crash_listeners:
            listener(feed_id, url, problem)

    def on_job_crash(self, job: Job, problem: Exception) -> None:
        """Report a bug of our own in a kind of job; the step counts as failed."""
        for listener in self.job_crash_listeners:
            listener(job, problem)

    def on_store_error(self, op: str, problem: FeedmillError, wait_sec: float) -> None:
        """Report that a store or a disk fails, and how long this loop waits before it retries."""
        for listener in self.store_error_listeners:
            listener(op, problem, wait_sec)

    def on_store_recovered(self, op: str) -> None:
        """Report that it works again."""
        for listener in self.store_error_listeners:
            listener(op, None, 0.0)

    def _end(self) -> "asyncio.Future[None]":
        """What is done when the run should end; one for all who wait, because many do."""
        if self._stopped is None:
            self._stopped = asyncio.get_running_loop().create_future()
            if self._stopping:
                self._stopped.set_result(None)
        return self._stopped
