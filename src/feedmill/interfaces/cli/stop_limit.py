"""Bounds a graceful shutdown: says what it waits for, and ends the process when that takes too long.

A disk that needs seconds for every sync, or a database that does not answer, holds up threads that Python waits
for at its end. What was committed is safe, and leases that are not released end by themselves: to be
killed here costs no more than a crash.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from feedmill.config import RunConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.observe.log import logger

STOP_LIMIT: Final[ContextVar["StopLimit | None"]] = ContextVar("stop_limit", default=None)

_GRACE_SEC: Final = 2.0  # beyond the drain, for releasing and closing
_STATUS: Final = 1
_INTERRUPTED: Final = 130


@contextmanager
def bounded_stop(config: RunConfig) -> Iterator["StopLimit"]:
    """Bound what signals stop in this block (`stop_on_signals`)."""
    limit = StopLimit(config)
    before = STOP_LIMIT.set(limit)
    try:
        yield limit
    finally:
        STOP_LIMIT.reset(before)
        limit.cancel()


class StopLimit:
    """Two alarms that begin with the stop of a role; `end` is called when the second one rings."""

    def __init__(self, config: RunConfig, end: Callable[[int], None] = os._exit) -> None:
        self._config, self._end = config, end
        self._alarms: list[threading.Timer] = []
        self.crashed_feeds: set[str] = set()  # for the exit code

    def crashed(self, feed_id: str, _url: str | None, _problem: Exception) -> None:
        """Note that a poll failed for a reason of feedmill's own."""
        self.crashed_feeds.add(feed_id)

    def begin(self, watch: Lifecycle) -> None:
        """Start both alarms, once."""
        if self._alarms:
            return
        first = self._config.drain_sec + _GRACE_SEC
        self._alarms = [
            threading.Timer(first, self._warn, (watch,)),
            threading.Timer(2 * first, self._give_up, (watch,)),
        ]
        self._start()

    def hurry(self, watch: Lifecycle) -> None:
        """End within the grace alone: a second signal asked for it."""
        self.cancel()
        self._alarms = [threading.Timer(_GRACE_SEC, self._give_up, (watch, _INTERRUPTED))]
        self._start()

    def cancel(self) -> None:
        """The role has ended by itself."""
        for alarm in self._alarms:
            alarm.cancel()

    def _start(self) -> None:
        for alarm in self._alarms:
            alarm.daemon = True
            alarm.start()

    def _warn(self, watch: Lifecycle) -> None:
        logger("stop").warning(
            "still stopping: the disk or the database does not answer",
            lanes=watch.lanes,
            ends_in_sec=self._config.drain_sec + _GRACE_SEC,
        )

    def _give_up(self, watch: Lifecycle, status: int = _STATUS) -> None:
        logger("stop").error(
            "stopped without waiting for the disk or the database; leases that were not released end by"
            " themselves",
            lanes=watch.lanes,
            lease_sec=self._config.lease_sec,
        )
        self._end(status)
