"""What a run can be asked and told while it works: stopping, pausing, and every refresh."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from feedmill.engine.ports import Committed, Refresh
from feedmill.errors import FeedmillError
from feedmill.model.feed import Feed

T = TypeVar("T")

Listener = Callable[[Feed, Refresh, Committed], None]
Alarm = Callable[[Feed, Exception], None]
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
    ) -> None:
        self.owner = owner
        self.listeners = listeners
        self.alarms = alarms
        self.words = words
        self._stop = asyncio.Event()

    def is_stopping(self) -> bool:
        """True once somebody asked the run to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the run to end: nothing new is started, what is under way is finished."""
        self._stop.set()

    async def pause(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run should end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), timeout=max(seconds, 0.0))

    async def unless_stopping(self, work: Coroutine[Any, Any, T], grace_sec: float) -> T:
        """What the work returns; TimeoutError when the run should end and it does not within a grace.

        For work that may wait long for somebody else: a database that is held, a disk that hangs.
        """
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=grace_sec)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            stop.cancel()
            task.cancel()

    def refreshed(self, before: Feed, result: Refresh, committed: Committed) -> None:
        """Tell every listener; they must not fail, and they do not wait."""
        for listener in self.listeners:
            listener(before, result, committed)

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
