"""Threads that parse documents, each for a limited number of them.

libxml2 keeps every name of an element, an attribute or a prefix that a thread has met in a dictionary
of that thread, about 40 bytes each, and only the end of the thread frees it. A publisher who invents names
would let a process grow without end. So documents are parsed in threads that are replaced now and then.

Threads that take work from a queue and answer into the event loop cost half of what an executor of the
standard library does, which has a lock and a condition for every call (27 against 50 µs of CPU).
"""
# Tested in tests/unit/engine/documents/test_parse_threads.py

import asyncio
import atexit
import contextvars
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")

_WORKERS: Final = 2
_DOCUMENTS: Final = 2_000  # that one set of threads parses
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


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
