"""Stop flag and listeners of a running scheduler, and retries with backoff.

A full disk becomes free, another program releases the database, a mount comes back: a run waits for
that, longer each time, and reports it. Any other error ends it, because waiting would only hide it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any, Final, TypeVar

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
# Operation, error (None: it is over), wait before the retry.
StoreErrorListener = Callable[[str, FeedmillError | None, float], None]


TRANSIENT_STORE: Final = frozenset(
    {
        "busy",
        "disk-full",
        "io-error",
        "read-only",
        "cannot-open",
        "too-slow",
        "unreachable",
        "no-schema",
    }
)
STORE_AWAY: Final = frozenset({"busy", "cannot-open"})  # it may come back without a write to it
FIRST_WAIT_SEC: Final = 0.25
MAX_WAIT_SEC: Final = 15.0


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


def is_transient(problem: BaseException | None) -> bool:
    """True for an error that may pass by itself."""
    return isinstance(problem, FeedmillError) and problem.reason in TRANSIENT_STORE


class Backoff:
    """The backoff of one loop: active from a failure until something works."""

    def __init__(self, op: str, lifecycle: Lifecycle) -> None:
        self.op, self.lifecycle = op, lifecycle
        self.active = False
        self.reason = ""  # of the last failure
        self._problem: FeedmillError | None = None  # since the last wait
        self._wait_sec = FIRST_WAIT_SEC / 2

    def failed(self, problem: FeedmillError) -> None:
        """Note a failure; of several at once the first is reported. Raises one that is not transient."""
        if not is_transient(problem):
            raise problem
        self.active = True
        self.reason = problem.reason
        self._problem = self._problem or problem

    async def wait(self) -> None:
        """Wait when there was a failure, twice as long as the last time."""
        problem, self._problem = self._problem, None
        if problem is not None:
            self._wait_sec = min(self._wait_sec * 2, MAX_WAIT_SEC)
            self.lifecycle.on_store_error(self.op, problem, self._wait_sec)
            await self.lifecycle.sleep_unless_stopping(self._wait_sec)

    def succeeded(self) -> None:
        """Something worked. The next wait begins lower, not at the bottom: errors come back."""
        if self.active and self._problem is None:
            self.active = False
            self._wait_sec = max(self._wait_sec / 4, FIRST_WAIT_SEC / 2)
            self.lifecycle.on_store_recovered(self.op)


async def retry(
    action: Callable[[], Awaitable[T]], backoff: Backoff, *, has_time: Callable[[], bool]
) -> T:
    """What the action returns, retried after transient errors while there is time."""
    while True:
        try:
            value = await action()
        except FeedmillError as problem:
            if not has_time() or backoff.lifecycle.is_stopping():
                raise
            backoff.failed(problem)
            await backoff.wait()
        else:
            backoff.succeeded()
            return value
