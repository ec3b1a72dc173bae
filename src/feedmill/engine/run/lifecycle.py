"""What a run can be asked and told while it works: stopping, pausing, and every refresh."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from feedmill.errors import FeedmillError
from feedmill.model.feed import Feed
from feedmill.model.refresh import Committed, Refresh

T = TypeVar("T")

Listener = Callable[[Feed, Refresh, Committed], None]
Alarm = Callable[[Feed, Exception], None]
Look = Callable[[str], None]  # which part of a run has looked for work
Loss = Callable[[str], None]  # the lane that somebody else may work from now on
Word = Callable[
    [str, FeedmillError | None, float], None
]  # what, why and the wait; None: it is over


class Watch:
    """The one place where a run learns that it should end, and where it says what it did."""

    def __init__(
        self,
        owner: str,
        listeners: tuple[Listener, ...] = (),
        alarms: tuple[Alarm, ...] = (),
        words: tuple[Word, ...] = (),
        looks: tuple[Look, ...] = (),
        losses: tuple[Loss, ...] = (),
    ) -> None:
        self.owner = owner
        self.listeners = listeners
        self.alarms = alarms
        self.words = words
        self.looks = looks
        self.losses = losses
        self.lanes = 0  # at work at the moment
        self._stopping = False
        self._stopped: asyncio.Future[None] | None = None

    def is_stopping(self) -> bool:
        """True once somebody asked the run to end."""
        return self._stopping

    def stop(self) -> None:
        """Ask the run to end: nothing new is started, what is under way is finished."""
        self._stopping = True
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    async def pause(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run should end."""
        await asyncio.wait({self._end()}, timeout=max(seconds, 0.0))

    async def until(self, waited: "asyncio.Future[Any]") -> None:
        """Wait for it, but not past the moment at which the run should end."""
        await asyncio.wait({waited, self._end()}, return_when=asyncio.FIRST_COMPLETED)

    async def unless_stopping(self, work: Coroutine[Any, Any, T], grace_sec: float) -> T:
        """What the work returns; TimeoutError when the run should end and it does not within a grace.

        For work that may wait long for somebody else: a database that is held, a disk that hangs.
        """
        task = asyncio.ensure_future(work)
        try:
            await self.until(task)
            if not task.done():
                await asyncio.wait({task}, timeout=grace_sec)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()

    def looked(self, part: str) -> None:
        """Tell that a part of the run has looked for work, whether there was some or not."""
        for look in self.looks:
            look(part)

    def refreshed(self, before: Feed, result: Refresh, committed: Committed) -> None:
        """Tell every listener; they must not fail, and they do not wait."""
        for listener in self.listeners:
            listener(before, result, committed)

    def lost(self, lane: str) -> None:
        """Tell that a lane went to somebody else before its work was done: we were too slow."""
        for loss in self.losses:
            loss(lane)

    def surprised(self, feed: Feed, problem: Exception) -> None:
        """Tell of a fault of our own; the feed keeps its next run and the others go on."""
        for alarm in self.alarms:
            alarm(feed, problem)

    def troubled(self, op: str, problem: FeedmillError, wait_sec: float) -> None:
        """Tell that a store or a disk fails, and how long this part of the run waits for it."""
        for word in self.words:
            word(op, problem, wait_sec)

    def recovered(self, op: str) -> None:
        """Tell that it works again."""
        for word in self.words:
            word(op, None, 0.0)

    def _end(self) -> "asyncio.Future[None]":
        """What is done when the run should end; one for all who wait, because many do."""
        if self._stopped is None:
            self._stopped = asyncio.get_running_loop().create_future()
            if self._stopping:
                self._stopped.set_result(None)
        return self._stopped
