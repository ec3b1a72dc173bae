"""Memory budget over all lanes of a process, and the part of its time that large documents get (D40).

A body of more than 512 KB counts from its arrival to its commit. A quarter of the budget is for the octets of such bodies; the
rest is for the one that is being read, which takes many times its size. What does not fit waits, in the order of arrival: a
transfer is paused, a document is not read yet; the oldest transfer always goes on. Large documents are read one at a time, and
when other polls were under way meanwhile, the next one waits twice as long as the process worked for it: threads of Python share
one processor, so that large documents, of however many publishers, take a third of it at most. Small bodies never wait and do not
count. While eight large bodies are held, feeds that brought one before are not asked: their lanes come back later.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Self

SMALL_BYTES: Final = 512 * 1024  # a body up to this size never waits and does not count
REST_FACTOR: Final = 2.0  # how long the next large document waits, by the work for the last one
MAX_LARGE_POLLS: Final = 8  # at once, of feeds that are known to be large; one is read at a time
_MAX_KNOWN: Final = 100_000  # feeds


class MemoryBudget:
    """The large bodies that are held now, and the turn to read one."""

    def __init__(self, max_bytes: int) -> None:
        self.small_polls = 0  # that ended so far
        self.large_polls = 0  # under way
        self.turn = asyncio.Lock()
        self._max_body_bytes = max_bytes // 4
        self._bodies: dict[MemoryShare, int] = {}  # the oldest first
        self._paused: dict[MemoryShare, Callable[[], None]] = {}
        self._large_feeds: set[str] = set()

    def share(self, feed_id: str = "", on_large: Callable[[], None] | None = None) -> "MemoryShare":
        """A share for one poll; what it takes is given back at the end of its block.

        `on_large` is called once, when the body of the poll turns out to be large.
        """
        return MemoryShare(self, feed_id, on_large)

    def is_crowded(self, feed_id: str) -> bool:
        """Whether a feed should be asked later: it brought a large body before, and enough are held now."""
        return self.large_polls >= MAX_LARGE_POLLS and feed_id in self._large_feeds

    def count_large(self, feed_id: str) -> None:
        """Note that the body of a feed is large."""
        self.large_polls += 1
        if len(self._large_feeds) >= _MAX_KNOWN:
            self._large_feeds.clear()
        self._large_feeds.add(feed_id)

    @property
    def body_bytes(self) -> int:
        """Octets of the large bodies that are held now."""
        return sum(self._bodies.values())

    def may_hold(self, share: "MemoryShare", octets: int, go_on: Callable[[], None]) -> bool:
        """Whether a body may be as large; if not, `go_on` is called when it may."""
        if not self._has_room(share, octets):
            self._paused[share] = go_on
            return False
        self._bodies[share] = octets
        return True

    def stop_waiting(self, share: "MemoryShare") -> None:
        """Forget a transfer that was paused and has ended."""
        self._paused.pop(share, None)

    def drop_body(self, share: "MemoryShare") -> None:
        """Give back what a body took; the next transfers go on."""
        self._paused.pop(share, None)
        if self._bodies.pop(share, None) is None:
            return
        # The oldest body first: it may have been paused after others, and all of them wait for its end.
        for waiting in (*self._bodies, *self._paused):
            if not self._has_room(waiting, self._bodies.get(waiting, SMALL_BYTES) + SMALL_BYTES):
                break
            if (go_on := self._paused.pop(waiting, None)) is not None:
                go_on()

    def _has_room(self, share: "MemoryShare", octets: int) -> bool:
        if next(iter(self._bodies), share) is share:
            return True
        return self.body_bytes - self._bodies.get(share, 0) + octets <= self._max_body_bytes


class MemoryShare:
    """What one poll holds of the budget; the `BodyRoom` of its request."""

    def __init__(
        self, budget: MemoryBudget, feed_id: str, on_large: Callable[[], None] | None
    ) -> None:
        self._budget, self._feed_id, self._on_large = budget, feed_id, on_large
        self._is_large = False
        # When the poll got the turn to read a large document: by the clock, and by the processor's. On a
        # machine with other work the time that passes is not the time that was taken from other polls.
        self._began: tuple[float, float] | None = None
        self._small_polls = 0

    def may_grow(self, octets: int, go_on: Callable[[], None]) -> bool:
        """Whether the body may have so many octets now; if not, `go_on` is called when it may."""
        if octets <= SMALL_BYTES:
            return True
        self._note_large()
        return self._budget.may_hold(self, octets, go_on)

    def stop_waiting(self) -> None:
        """Say that the transfer has ended."""
        self._budget.stop_waiting(self)

    async def take_for(self, body_bytes: int) -> None:
        """Wait until a body of this size may be read."""
        if body_bytes > SMALL_BYTES and self._began is None:
            self._note_large()
            await self._budget.turn.acquire()
            self._began = asyncio.get_running_loop().time(), time.process_time()
            self._small_polls = self._budget.small_polls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        budget, began, self._began = self._budget, self._began, None
        try:
            budget.large_polls -= self._is_large
            budget.drop_body(self)
        finally:  # a turn that is not given back would keep every large document waiting for ever
            if began is None:
                budget.small_polls += 1
            elif self._small_polls == budget.small_polls:  # it kept no other poll waiting
                budget.turn.release()
            else:
                loop = asyncio.get_running_loop()
                passed, worked = loop.time() - began[0], time.process_time() - began[1]
                loop.call_later(min(passed, worked) * REST_FACTOR, budget.turn.release)

    def _note_large(self) -> None:
        if not self._is_large:
            self._is_large = True
            self._budget.count_large(self._feed_id)
            if self._on_large is not None:
                self._on_large()
