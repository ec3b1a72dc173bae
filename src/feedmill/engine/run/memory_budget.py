"""What documents may take of a process: memory, processor time, and threads that are replaced now and then.

Memory budget over all lanes of a process, and the part of its time that large documents get (D40).

A body of more than 512 KB counts from its arrival to its commit. The octets of such bodies have a limit, a quarter of what the
settings give; the rest is for the one that is being read, which takes many times its size. What does not fit waits, in the order of
arrival: a transfer is paused, a document is not read yet; the oldest transfer always goes on. Large documents, and lists of feeds
that clients send, are read one at a time. When other polls were under way meanwhile, the next one waits twice as long as the process
worked for it: threads of Python share one processor, so that large documents, of however many publishers and clients, take a third
of it at most. Small bodies never wait and do not count. While eight large bodies are held, feeds that brought one before are not
asked: their lanes come back later.

Threads that parse documents, each for a limited number of them.

libxml2 keeps every name of an element, an attribute or a prefix that a thread has met in a dictionary
of that thread, about 40 bytes each, and only the end of the thread frees it. A publisher who invents names
would let a process grow without end. So documents are parsed in threads that are replaced now and then.

Threads that take work from a queue and answer into the event loop cost half of what an executor of the
standard library does, which has a lock and a condition for every call (27 against 50 µs of CPU).
"""

import asyncio
import atexit
import contextvars
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Self, TypeVar

SMALL_BYTES: Final = 512 * 1024  # a body up to this size never waits and does not count
REST_FACTOR: Final = 2.0  # how long the next large document waits, by the work for the last one
MAX_LARGE_POLLS: Final = 8  # at once, of feeds that are known to be large; one is read at a time
_MAX_KNOWN: Final = 100_000  # feeds
T = TypeVar("T")

_WORKERS: Final = 2
_DOCUMENTS: Final = 2_000  # that one set of threads parses
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class MemoryBudget:
    """The large bodies that are held now, and the turn to read one."""

    def __init__(self, max_body_bytes: int, *, small_bytes: int = SMALL_BYTES) -> None:
        self.small_bytes = small_bytes
        self.small_polls = 0  # that ended so far
        self.large_polls = 0  # under way
        self.turn = asyncio.Lock()
        self._max_body_bytes = max_body_bytes
        self._bodies: dict[MemoryShare, int] = {}  # the oldest first
        self._paused: dict[MemoryShare, Callable[[], None]] = {}
        self._large_feeds: set[str] = set()

    def share(self, feed_id: str = "", on_large: Callable[[], None] | None = None) -> "MemoryShare":
        """A share for one poll, or for a list of feeds; what it takes is given back at the end of its block.

        `on_large` is called once, when the body turns out to be large.
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
            octets = self._bodies.get(waiting, self.small_bytes) + self.small_bytes
            if not self._has_room(waiting, octets):
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
        if octets <= self._budget.small_bytes:
            return True
        self._note_large()
        return self._budget.may_hold(self, octets, go_on)

    async def wait_to_grow(self, octets: int) -> None:
        """Wait until the body may have so many octets."""
        going_on = asyncio.Event()
        while not self.may_grow(octets, going_on.set):
            await going_on.wait()
            going_on.clear()

    def stop_waiting(self) -> None:
        """Say that the transfer has ended."""
        self._budget.stop_waiting(self)

    async def take_for(self, body_bytes: int) -> None:
        """Wait until a body of this size may be read."""
        if body_bytes > self._budget.small_bytes and self._began is None:
            self._note_large()
            await self._budget.turn.acquire()
            self._began = asyncio.get_running_loop().time(), time.process_time()
            self._small_polls = self._budget.small_polls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        budget, began, self._began = self._budget, self._began, None
        try:
            if self._is_large and self._feed_id:
                budget.large_polls -= 1
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
            if self._feed_id:
                self._budget.count_large(self._feed_id)
            if self._on_large is not None:
                self._on_large()


class ParseThreads:
    """A few threads that are replaced after so many documents."""

    def __init__(self, documents: int = _DOCUMENTS) -> None:
        self._documents = documents
        self._left = 0
        self._jobs: SimpleQueue[_Job | None] | None = None
        self._threads: list[Thread] = []
        os.register_at_fork(after_in_child=self._forget)

    async def run(self, action: Callable[[], T]) -> T:
        """Run the action in a thread, with the context variables of the caller."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._current().put((partial(contextvars.copy_context().run, action), answer))
        return await answer

    def close(self) -> None:
        """End the threads once they have parsed what they are at."""
        self._dismiss()
        for thread in self._threads:
            thread.join()

    def _current(self) -> "SimpleQueue[_Job | None]":
        if self._jobs is None or self._left <= 0:
            self._dismiss()
            self._jobs = SimpleQueue()
            self._left = self._documents
            self._threads = [
                # A daemon: a result that is no longer awaited must not hold up the end of the process.
                Thread(target=_work, args=(self._jobs,), name=f"parse-{number}", daemon=True)
                for number in range(_WORKERS)
            ]
            for thread in self._threads:
                thread.start()
        self._left -= 1
        return self._jobs

    def _dismiss(self) -> None:
        if self._jobs is not None:
            for _ in range(_WORKERS):
                self._jobs.put(None)
        self._jobs = None

    def _forget(self) -> None:
        """Threads do not live on in a forked process."""
        self._jobs, self._threads = None, []


def _work(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        action, answer = job
        try:
            settle = partial(_settle, answer.set_result, answer, action())
        except BaseException as problem:  # noqa: BLE001  # it is the caller's
            settle = partial(_settle, answer.set_exception, answer, problem)
        with suppress(RuntimeError):  # the caller's loop was closed meanwhile
            answer.get_loop().call_soon_threadsafe(settle)
        del job, action, answer, settle  # nothing stays in memory until the next one comes


def _settle(tell: Callable[[Any], None], answer: "asyncio.Future[Any]", outcome: Any) -> None:  # noqa: ANN401
    if not answer.done():
        tell(outcome)


PARSE_THREADS: Final = ParseThreads()
# An extension that comes back from its work while the interpreter ends would end the process by force.
atexit.register(PARSE_THREADS.close)
