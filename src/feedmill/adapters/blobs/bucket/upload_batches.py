"""Upload batches: bodies are gathered, and each batch becomes one segment in the bucket.

A batch waits for company until it has lingered long enough or is full. While as many batches as
may be on their way at once are on their way, the next one goes on growing: the slower the other
side, the larger the batches.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Final

from feedmill.adapters.blobs.errors import closed_error, too_slow_error
from feedmill.adapters.blobs.record import Item
from feedmill.engine.ports.io import Clock
from feedmill.model.feed import BlobRef

WriteBatch = Callable[[Sequence[Item]], Sequence[BlobRef]]

_ON_THEIR_WAY: Final = 4
_REMEMBERED: Final = 4096


class UploadBatches:
    """Puts that share requests; `keep` writes one batch, blocking, and says where it lies."""

    def __init__(
        self,
        keep: WriteBatch,
        clock: Clock,
        *,
        batch_bytes: int,
        linger_sec: float,
        remember_sec: float,
        patience_sec: float,
    ) -> None:
        self._keep, self._clock = keep, clock
        self._batch_bytes, self._linger_sec = batch_bytes, linger_sec
        self._remember_sec, self._patience_sec = remember_sec, patience_sec
        self._writers = ThreadPoolExecutor(_ON_THEIR_WAY, thread_name_prefix="feedmill-blobs-put")
        self._slots = asyncio.Semaphore(_ON_THEIR_WAY)
        self._gathering: _Batch | None = None
        self._carrying: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, asyncio.Future[BlobRef]] = {}
        self._kept: OrderedDict[str, tuple[BlobRef, float]] = OrderedDict()
        self._last: str | None = None
        self._notes = count()
        self._closed = False

    async def put(self, item: Item) -> BlobRef:
        """Where the item lies, once it is durable; a body that was put just now is not repeated."""
        if self._closed:
            raise closed_error()
        key = item.sha256 if item.body is not None else f"{item.sha256}/{next(self._notes)}"
        kept = self._known(key)
        if kept is not None:
            return kept
        future = self._waiting.get(key) or self._add(key, item)
        try:
            async with asyncio.timeout(self._patience_sec):
                # A caller that gives up does not take the body from others that put the same one.
                return await asyncio.shield(future)
        except TimeoutError as error:
            raise too_slow_error(self._patience_sec) from error

    async def seal(self) -> str | None:
        """Send off what is gathered, wait for all of it, and say the last segment since last time."""
        if self._closed:
            raise closed_error()
        await self._finish()
        last, self._last = self._last, None
        return last

    def forget(self, segment: str) -> None:
        """A segment is dropped: what lies in it has to be put again."""
        gone = [sha for sha, (ref, _) in self._kept.items() if ref.segment == segment]
        for sha256 in gone:
            del self._kept[sha256]

    async def close(self) -> None:
        """Send off what is gathered, wait for all of it, and end the threads."""
        self._closed = True
        await self._finish()
        await asyncio.to_thread(self._writers.shutdown)

    def _known(self, sha256: str) -> BlobRef | None:
        """Where a body lies that was put a short while ago.

        Short against the grace of a sweep: the segment is there for longer than it takes to
        commit a pointer into it, even if nothing else points there.
        """
        oldest = self._clock.monotonic() - self._remember_sec
        while self._kept and next(iter(self._kept.values()))[1] <= oldest:
            self._kept.popitem(last=False)
        kept = self._kept.get(sha256)
        return kept[0] if kept else None

    def _add(self, key: str, item: Item) -> "asyncio.Future[BlobRef]":
        batch = self._gathering
        if batch is None:
            batch = self._gathering = _Batch()
            task = asyncio.get_running_loop().create_task(self._upload(batch))
            self._carrying.add(task)
            task.add_done_callback(self._carrying.discard)
        future: asyncio.Future[BlobRef] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        batch.keys.append(key)
        batch.items.append(item)
        batch.size += item.size_bytes
        if batch.size >= self._batch_bytes:
            self._send_off()
        return future

    def _send_off(self) -> None:
        if self._gathering is not None:
            self._gathering.leaves.set()
            self._gathering = None

    async def _upload(self, batch: "_Batch") -> None:
        """The whole way of one batch; an error is raised in all tasks that wait for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._linger_sec):
                await batch.leaves.wait()
        async with self._slots:
            if self._gathering is batch:
                self._gathering = None
            loop = asyncio.get_running_loop()
            try:
                refs = await loop.run_in_executor(self._writers, self._keep, batch.items)
            except Exception as error:  # noqa: BLE001  # the edge of a task: raised in all that wait
                self._failed(batch, error)
            else:
                self._succeeded(batch, refs)

    def _succeeded(self, batch: "_Batch", refs: Sequence[BlobRef]) -> None:
        now = self._clock.monotonic()
        for key, ref in zip(batch.keys, refs, strict=True):
            if key == ref.sha256:
                self._kept[key] = (ref, now)
            self._last = ref.segment
            future = self._waiting.pop(key)
            if not future.done():
                future.set_result(ref)
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)

    def _failed(self, batch: "_Batch", error: Exception) -> None:
        for key in batch.keys:
            future = self._waiting.pop(key)
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen, even when everybody who waited has given up

    async def _finish(self) -> None:
        self._send_off()
        while self._carrying:
            await asyncio.wait(self._carrying, timeout=self._patience_sec)


class _Batch:
    """Bodies that wait for each other."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.items: list[Item] = []
        self.size = 0
        self.leaves = asyncio.Event()
