"""Polls the last sequence number every 100 ms while anything waits, and wakes all waiters.

The log is in the store, and another process may write to it; so one task reads its last number for
all long polls and streams of this process. A waiter is woken once, when there is something to read.
"""

import asyncio
from contextlib import suppress

from feedmill.engine.ports.events import EventLog
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError


class LogNotifier:
    """Wakes waiters when the log has grown; `run` is a task of the server that they belong to."""

    def __init__(self, log: EventLog, lifecycle: Lifecycle, *, every_sec: float = 0.1) -> None:
        self._log, self._lifecycle, self._every_sec = log, lifecycle, every_sec
        self._last_seq = 0
        self._waiting = 0
        self._grown = asyncio.Event()
        self._has_waiters = asyncio.Event()

    async def wait_past(self, seq: int, *, timeout_sec: float) -> bool:
        """True as soon as there are events after `seq`; False when time is up or the run ends."""
        if self._last_seq > seq:
            return True
        self._waiting += 1
        self._has_waiters.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_sec):
                    while self._last_seq <= seq and not self._lifecycle.is_stopping():
                        await self._grown.wait()
        finally:
            self._waiting -= 1
        return self._last_seq > seq

    async def run(self) -> None:
        """Poll while anything waits, until the run ends; then wake all waiters."""
        try:
            while not self._lifecycle.is_stopping():
                if not self._waiting:
                    self._has_waiters.clear()
                    waiting = asyncio.ensure_future(self._has_waiters.wait())
                    await self._lifecycle.wait_for(waiting)
                    waiting.cancel()
                await self._poll()
                await self._lifecycle.sleep_unless_stopping(self._every_sec)
        finally:
            self._wake()

    async def _poll(self) -> None:
        with suppress(FeedmillError):  # the reader of the log meets the same error and reports it
            last = await self._log.last_seq()
            if last > self._last_seq:
                self._last_seq = last
                self._wake()

    def _wake(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
