"""One thread that appends: puts that wait while the disk is busy share the next sync.

So a busy store syncs in large groups, and an idle one answers after a single sync.
"""

import asyncio
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, TypeVar

from feedmill.adapters.blobs.appender import Appender
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef

T = TypeVar("T")

GROUP_BYTES: Final = 8 * 1024 * 1024


class _Put(NamedTuple):
    sha256: str
    body: bytes
    future: "asyncio.Future[BlobRef]"
    loop: asyncio.AbstractEventLoop


class _Seal(NamedTuple):
    future: "asyncio.Future[str | None]"
    loop: asyncio.AbstractEventLoop


class Scribe:
    """The thread and its queue; begun by the constructor, ended by `close`."""

    def __init__(self, appender: Appender, *, patience_sec: float) -> None:
        self._appender, self._patience_sec = appender, patience_sec
        self._queue: SimpleQueue[_Put | _Seal | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="feedmill-blobs", daemon=True)
        self._thread.start()

    async def put(self, sha256: str, body: bytes) -> BlobRef:
        """Where the body lies, once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[BlobRef] = loop.create_future()
        return await self._ask(_Put(sha256, body, future, loop), future)

    async def seal(self) -> str | None:
        """Seal the active segment, after everything that was put before."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str | None] = loop.create_future()
        return await self._ask(_Seal(future, loop), future)

    async def close(self) -> None:
        """Finish what was asked, seal, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join, self._patience_sec)

    async def _ask(self, job: _Put | _Seal, future: "asyncio.Future[T]") -> T:
        if self._closed:
            raise BlobError("closed", "the raw store is closed")
        self._queue.put(job)
        try:
            async with asyncio.timeout(self._patience_sec):
                return await future
        except TimeoutError as error:
            message = f"the raw store's disk did not answer within {self._patience_sec:g} s"
            raise BlobError("too-slow", message) from error

    def _work(self) -> None:
        """The thread's whole life: one group after the other, until the end mark."""
        job: _Put | _Seal | None = self._next()
        while job is not None:
            if isinstance(job, _Put):
                group, job = self._gather(job)
                self._append(group)
                if job is _NOTHING:
                    job = self._next()
            else:
                self._seal(job)
                job = self._next()
        self._seal(None)

    def _next(self) -> "_Put | _Seal | None":
        """The next job; a segment that gets too old meanwhile is sealed."""
        while True:
            try:
                return self._queue.get(timeout=self._appender.seconds_left())
            except Empty:
                if self._appender.seconds_left() == 0:
                    self._seal(None)
