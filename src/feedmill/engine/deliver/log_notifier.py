"""One look at the log for everybody who waits for it: long polls, streams, watchers.

The log lies in the store, and another process may write to it; so it is looked at, a few times a
second and only while somebody waits. Whoever waits is woken once, when there is something to read.
"""

import asyncio
from contextlib import suppress

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError


class LogNotifier:
    """Rings when the log has grown; `keep_looking` is a task of whoever opens the doors."""

    def __init__(self, services: Services, watch: Lifecycle, *, every_sec: float = 0.1) -> None:
        self._world, self._watch, self._every_sec = services, watch, every_sec
        self._last_seq = 0
        self._waiting = 0
        self._rung = asyncio.Event()
        self._wanted = asyncio.Event()

    async def wait_past(self, seq: int, *, timeout_sec: float) -> bool:
        """True as soon as there are events after `seq`; False when time is up or the run ends."""
        if self._last_seq > seq:
            return True
        self._waiting += 1
        self._wanted.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_sec):
                    while self._last_seq <= seq and not self._watch.is_stopping():
                        await self._rung.wait()
        finally:
            self._waiting -= 1
        return self._last_seq > seq

    async def run(self) -> None:
        """Look while somebody waits, until the run ends; then wake everybody."""
        try:
            while not self._watch.is_stopping():
                if not self._waiting:
                    self._wanted.clear()
                    waiting = asyncio.ensure_future(self._wanted.wait())
                    await self._watch.wait_for(waiting)
                    waiting.cancel()
                await self._look()
                await self._watch.sleep_unless_stopping(self._every_sec)
        finally:
            self._ring()

    async def _look(self) -> None:
        with suppress(FeedmillError):  # whoever reads the log meets it too, and tells
            last = await self._world.store.last_seq()
            if last > self._last_seq:
                self._last_seq = last
                self._ring()

    def _ring(self) -> None:
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()
