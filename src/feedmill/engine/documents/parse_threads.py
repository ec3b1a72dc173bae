"""Threads that parse documents, each for a limited number of them.

libxml2 keeps every name of an element, an attribute or a prefix that a thread has met in a dictionary
of that thread, about 40 bytes each, and only the end of the thread frees it. A publisher who invents names
would let a process grow without end. So documents are parsed in threads that are replaced now and then.
"""
# Tested in tests/unit/engine/documents/test_parse_threads.py

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

T = TypeVar("T")

_WORKERS: Final = 2
_DOCUMENTS: Final = 2_000  # that one pool of threads parses


class ParseThreads:
    """A pool of threads that is replaced after so many documents."""

    def __init__(self, documents: int = _DOCUMENTS) -> None:
        self._documents = documents
        self._left = 0
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, action: Callable[[], T]) -> T:
        """Run the action in a thread, with the context variables of the caller."""
        call = partial(contextvars.copy_context().run, action)
        return await asyncio.get_running_loop().run_in_executor(self._current(), call)

    def _current(self) -> ThreadPoolExecutor:
        if self._pool is None or self._left <= 0:
            if self._pool is not None:
                self._pool.shutdown(wait=False)  # its threads end with what they are parsing
            self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="parse")
            self._left = self._documents
        self._left -= 1
        return self._pool


PARSE_THREADS: Final = ParseThreads()
