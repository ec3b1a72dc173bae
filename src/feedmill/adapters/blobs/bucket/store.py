"""The raw store on object storage: S3, GCS or Azure, shared by as many workers as there are.

    put       gathered with what comes within a few milliseconds, then one create-only object:
              it is there when this returns, and every other machine can read it
    get       one range of one object, checked every time
    the rest  as in every raw store (blobs/base.py), in a bucket (bucket.py)

Every object is a sealed segment, laid out as on local disk, so there is nothing to recover: a
worker that dies between a put and its commit leaves a segment into which nothing points, and
that is swept like any. Housekeeping packs the many small segments into few large ones.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from feedmill.adapters.blobs.base import BaseBlobs
from feedmill.adapters.blobs.bucket.address import open_object_store
from feedmill.adapters.blobs.bucket.bucket import Bucket
from feedmill.adapters.blobs.bucket.errors import name_taken_error
from feedmill.adapters.blobs.bucket.upload_batches import UploadBatches
from feedmill.adapters.blobs.record import Item, ReadAt, RecordGroup
from feedmill.adapters.blobs.repack import Bodies
from feedmill.adapters.blobs.segment_source import PACKED_SUFFIX, SegmentSource
from feedmill.config import BlobsConfig, StoreConfig
from feedmill.engine.ports.io import Clock
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_READERS: Final = 16
_ATTEMPTS: Final = 3  # at a name that is not taken
_NEAR_BYTES: Final = 256 * 1024 * 1024  # of small segments in memory while they are packed


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
