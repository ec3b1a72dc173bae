"""The writer thread of the raw store: puts that wait while the disk is busy share the next sync.

So a busy store syncs in large groups, and an idle one answers after a single sync.
"""
# Tested in tests/integration/adapters/blobs/disk/

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from feedmill.adapters.blobs.disk.appender import Appender
from feedmill.adapters.blobs.errors import closed_error, too_slow_error
from feedmill.adapters.blobs.record import Item
from feedmill.model.feed import BlobRef

T = TypeVar("T")

APPEND_GROUP_BYTES: Final = 8 * 1024 * 1024


class _Put(NamedTuple):
    item: Item
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


class _Seal(NamedTuple):
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


_Outcome = tuple[_Put | _Seal, BlobRef | str | None, Exception | None]


class WriterThread:
    """The thread and its queue; begun by the constructor, ended by `close`."""

    def __init__(self, appender: Appender, *, patience_sec: float) -> None:
        self._appender, self._patience_sec = appender, patience_sec
        self._queue: SimpleQueue[_Put | _Seal | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="feedmill-blobs", daemon=True)
        self._thread.start()

    async def put(self, item: Item) -> BlobRef:
        """Where the item lies, once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[BlobRef] = loop.create_future()
        return await self._ask(_Put(item, future, loop), future)

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
            raise closed_error()
        self._queue.put(job)
        try:
            async with asyncio.timeout(self._patience_sec):
                return await future
        except TimeoutError as error:
            raise too_slow_error(self._patience_sec) from error

    def _work(self) -> None:
        """The thread's whole life: one group after the other, until the end mark."""
        going_on = True
        while going_on:
            jobs = self._gather()
            self._append([job for job in jobs if isinstance(job, _Put)])
            going_on = None not in jobs
            asked = [job for job in jobs if isinstance(job, _Seal)]
            if asked or not going_on or self._appender.seconds_left() == 0:
                self._seal(asked)

    def _gather(self) -> list[_Put | _Seal | None]:
        """The next job and all that wait behind it; none when the segment gets old meanwhile."""
        jobs: list[_Put | _Seal | None] = []
        size = 0
        with suppress(Empty):
            job = self._queue.get(timeout=self._appender.seconds_left())
            while True:
                jobs.append(job)
                size += job.item.size_bytes if isinstance(job, _Put) else 0
                if size >= APPEND_GROUP_BYTES or job is None:
                    break
                job = self._queue.get_nowait()
        return jobs

    def _append(self, puts: Sequence[_Put]) -> None:
        if not puts:
            return
        try:
            refs = self._appender.append([put.item for put in puts])
        except Exception as error:  # noqa: BLE001  # the edge of a task: raised in all that wait
            _report([(put, None, error) for put in puts])
        else:
            _report([(put, ref, None) for put, ref in zip(puts, refs, strict=True)])

    def _seal(self, asked: Sequence[_Seal]) -> None:
        try:
            name = self._appender.seal()
        except Exception as error:  # noqa: BLE001  # recovery seals what we could not
            _report([(job, None, error) for job in asked])
        else:
            _report([(job, name, None) for job in asked])


def _report(outcomes: Sequence[_Outcome]) -> None:
    """Wake those who wait, one call per event loop; a loop that has ended waits for nothing."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].loop, []).append(outcome)
    for loop, results in by_loop.items():
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, results)


def _resolve(outcomes: Sequence[_Outcome]) -> None:
    for job, value, error in outcomes:
        if job.future.done():  # the caller has given up
            continue
        if error is None:
            job.future.set_result(value)
        else:
            job.future.set_exception(error)
