"""The writer thread of the raw store: puts that wait while the disk is busy share the next sync.

So a busy store syncs in large groups, and an idle one answers after a single sync.

It appends groups of bodies to the active segment of this process; each group is durable at once. A group is all or nothing: when the disk refuses a part of it, the
segment is cut back to where it was, so it stays valid and the next group may succeed.
"""
# Tested in tests/integration/adapters/blobs/disk/

import asyncio
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from feedmill.adapters import files as durable_files
from feedmill.adapters.blobs.disk.folder import SegmentFolder, write_all
from feedmill.adapters.blobs.errors import blob_error, closed_error, too_slow_error
from feedmill.adapters.blobs.record import Item, RecordGroup
from feedmill.adapters.failpoints import reach
from feedmill.engine.ports.io import Clock
from feedmill.model.feed import BlobRef

T = TypeVar("T")

APPEND_GROUP_BYTES: Final = 8 * 1024 * 1024

_ATTEMPTS = 3  # at a name that is not taken for a dead process's


class _Put(NamedTuple):
    item: Item
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


class _Seal(NamedTuple):
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


_Outcome = tuple[_Put | _Seal, BlobRef | str | None, Exception | None]


class Appender:
    """Appends bodies as they are: they are made small later, all versions of a feed together."""

    def __init__(
        self, folder: SegmentFolder, clock: Clock, *, segment_bytes: int, segment_age_sec: float
    ) -> None:
        self._folder, self._clock = folder, clock
        self._segment_bytes, self._segment_age_sec = segment_bytes, segment_age_sec
        self._active: _Active | None = None

    def append(self, items: Sequence[Item]) -> list[BlobRef]:
        """Where the items lie, durable; a body that lies here already is not repeated."""
        active = self._active = self._active or self._begin()
        group = RecordGroup(active.name, active.end, active.known)
        refs = [group.add(item) for item in items]
        self._write(active, group.data())
        active.end = group.end
        active.known |= group.added
        return refs

    def seal(self) -> str | None:
        """Close the active segment for good and say its name; the next body begins another."""
        active, self._active = self._active, None
        if active is None:
            return None
        try:
            self._folder.seal(active.name, active.file)
        except OSError as error:
            raise blob_error(error, f"segment {active.name}") from error
        finally:
            os.close(active.file)
        return active.name

    def seconds_left(self) -> float | None:
        """Until the active segment is to be sealed, 0 for one that is full; None without one."""
        if self._active is None:
            return None
        if self._active.end >= self._segment_bytes:
            return 0.0
        age = self._clock.monotonic() - self._active.begun
        return max(0.0, self._segment_age_sec - age)

    def _begin(self) -> "_Active":
        attempts = _ATTEMPTS
        while True:
            name = self._clock.new_id()
            try:
                return _Active(name, self._folder.create(name), self._clock.monotonic())
            except OSError as error:
                attempts -= 1
                if attempts == 0 or not isinstance(error, BlockingIOError | FileNotFoundError):
                    raise blob_error(error, str(self._folder.path)) from error

    def _write(self, active: "_Active", data: bytes) -> None:
        if not data:
            return
        try:
            reach("blob-write")
            write_all(active.file, data, active.end)
        except OSError as error:
            if not _cut_back(active):
                self._abandon(active)
            raise blob_error(error, f"segment {active.name}") from error
        try:
            reach("blob-written")
            durable_files.sync_data(active.file)
            reach("blob-synced")
        except OSError as error:
            # After a failed sync the kernel may call lost pages clean; no later sync of this file
            # proves anything. What was acknowledged before is safe, the rest goes elsewhere.
            _cut_back(active)
            self._abandon(active)
            raise blob_error(error, f"segment {active.name}") from error

    def _abandon(self, active: "_Active") -> None:
        self._active = None
        os.close(active.file)


class _Active:
    def __init__(self, name: str, file: int, begun: float) -> None:
        self.name, self.file, self.begun = name, file, begun
        self.end = 0  # of what is durable
        self.known: dict[str, BlobRef] = {}


def _cut_back(active: _Active) -> bool:
    try:
        os.ftruncate(active.file, active.end)
    except OSError:
        return False
    return True


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
