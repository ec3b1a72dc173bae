"""The raw store on object storage: S3, GCS or Azure, shared by as many workers as there are.

    put       gathered with what comes within a few milliseconds, then one create-only object:
              it is there when this returns, and every other machine can read it
    get       one range of one object, checked every time
    the rest  as in every raw store (blobs/base.py), in a bucket (bucket.py)

Every object is a sealed segment, laid out as on local disk, so there is nothing to recover: a
worker that dies between a put and its commit leaves a segment into which nothing points, and
that is swept like any. Housekeeping packs the many small segments into few large ones.

Bodies are gathered, and each batch becomes one segment in the bucket. A batch waits for company until it has lingered long enough or is full. While as many batches as
may be on their way at once are on their way, the next one goes on growing: the slower the other
side, the larger the batches.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Final

from feedmill.adapters.blobs.base import BaseBlobs
from feedmill.adapters.blobs.bucket.address import open_object_store
from feedmill.adapters.blobs.bucket.bucket import Bucket, name_taken_error
from feedmill.adapters.blobs.errors import closed_error, too_slow_error
from feedmill.adapters.blobs.record import PACKED_SUFFIX, Item, ReadAt, RecordGroup, SegmentSource
from feedmill.adapters.blobs.sealed_segments import Bodies
from feedmill.config import BlobsConfig, StoreConfig
from feedmill.engine.ports.io import Clock
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_READERS: Final = 16
_ATTEMPTS: Final = 3  # at a name that is not taken
_NEAR_BYTES: Final = 256 * 1024 * 1024  # of small segments in memory while they are packed

WriteBatch = Callable[[Sequence[Item]], Sequence[BlobRef]]

_ON_THEIR_WAY: Final = 4
_REMEMBERED: Final = 4096


class BucketBlobs(BaseBlobs):
    """Blobs in a bucket; `BucketBlobs.at(url, …)` finds it by its address."""

    def __init__(
        self,
        store: "ObjectStore",
        place: str,
        clock: Clock,
        store_config: StoreConfig | None = None,
        config: BlobsConfig | None = None,
    ) -> None:
        settings, config = store_config or StoreConfig(), config or BlobsConfig()
        grace = timedelta(seconds=settings.segment_grace_sec)
        self._bucket = Bucket(store, place)
        super().__init__(self._bucket, place, clock, grace=grace, readers=_READERS)
        self._writer = self._batches = UploadBatches(
            self._keep,
            clock,
            batch_bytes=config.batch_bytes,
            linger_sec=config.linger_ms / 1000,
            remember_sec=settings.segment_grace_sec / 2,
            patience_sec=2 * (config.retry_sec + config.timeout_ms / 1000),
        )

    @classmethod
    def at(
        cls, url: str, clock: Clock, store_config: StoreConfig, config: BlobsConfig
    ) -> "BucketBlobs":
        """The raw store at an address; nothing is asked of it before the first put or get."""
        return cls(open_object_store(url, config), url, clock, store_config, config)

    async def reencode(self, bodies: Bodies) -> tuple[BlobRef, ...]:
        """One new packed segment with all the bodies; small segments are fetched whole and at once."""
        return await self.reencode_from(await self._near(bodies), bodies)

    async def drop(self, segment: str) -> None:
        """Delete a segment at once; `sweep` is the patient way."""
        self._batches.forget(segment)
        await super().drop(segment)

    async def check(self) -> None:
        """BlobError when the bucket cannot be listed: no answer, no bucket or no permission."""
        await self.run_in_thread(self._bucket.check)

    def _keep(self, items: Sequence[Item]) -> list[BlobRef]:
        for _ in range(_ATTEMPTS):
            group = RecordGroup(self._clock.new_id())
            refs = [group.add(item) for item in items]
            if self._bucket.create(group.segment, group.data()):
                return refs
        raise name_taken_error(self._place)

    async def _near(self, bodies: Bodies) -> SegmentSource:
        """The small segments of these bodies in memory, fetched side by side."""
        ends: dict[str, int] = {}
        for ref, _ in bodies:
            if not ref.segment.endswith(PACKED_SUFFIX):
                ends[ref.segment] = max(ends.get(ref.segment, 0), ref.offset + ref.length)
        left, chosen = _NEAR_BYTES, []
        for name, end in ends.items():
            left -= end
            if left >= 0:
                chosen.append((name, end))
        found = await asyncio.gather(*(self._fetch(name, end) for name, end in chosen))
        return _LoadedSegments(
            self._bucket, {name: data for name, data in found if data is not None}
        )

    async def _fetch(self, name: str, end: int) -> tuple[str, bytes | None]:
        def read() -> bytes:
            with self._bucket.reading(name) as read_at:
                return read_at(0, end)

        try:
            return name, await self.run_in_thread(read)
        except BlobError:  # its reader meets the error again, and reports it
            return name, None


class _LoadedSegments:
    """Segments in memory, the others where they are."""

    def __init__(self, bucket: Bucket, held: Mapping[str, bytes]) -> None:
        self._bucket, self._held = bucket, held

    @contextmanager
    def reading(self, name: str) -> Iterator[ReadAt]:
        """Bytes by range."""
        data = self._held.get(name)
        if data is not None:
            yield lambda offset, length: data[offset : offset + length]
            return
        with self._bucket.reading(name) as read_at:
            yield read_at


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
        kept, waiting = self._known(key), self._waiting.get(key)
        if item.note and (kept or waiting):  # another feed brought the same body
            await self.put(item._replace(body=None))
        if kept is not None:
            return kept
        future = waiting or self._add(key, item)
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
