"""The raw store on local disk: append-only segments, content-addressed through the store's index.

    put       appended and synced together with whatever else waits, by one thread (writer_thread.py)
    seal      by size, by age or on demand; a sealed segment never changes
    the rest  as in every raw store (blobs/base.py), in a folder (folder.py)

Several processes may share one folder: each appends to files of its own. A reader that meets
BlobMoved asks the index again, once: another process has re-encoded the segment meanwhile.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from feedmill.adapters.blobs.base import BaseBlobs, check_sha256
from feedmill.adapters.blobs.disk.appender import Appender
from feedmill.adapters.blobs.disk.folder import SegmentFolder
from feedmill.adapters.blobs.disk.recovery import Recovered, recover
from feedmill.adapters.blobs.disk.writer_thread import WriterThread
from feedmill.adapters.blobs.errors import blob_error
from feedmill.config import StoreConfig
from feedmill.engine.ports.clock import Clock
from feedmill.model.feed import BlobRef
from feedmill.model.raw_segment import Segment

DISK_TIMEOUT_SEC: Final = 60.0  # with a disk that does not answer
_READERS: Final = 2


class DiskBlobs(BaseBlobs):
    """Blobs in a folder; `await DiskBlobs.open(…)` repairs first what a crash left."""

    def __init__(
        self,
        folder: SegmentFolder,
        clock: Clock,
        config: StoreConfig,
        recovered: Sequence[Recovered] = (),
    ) -> None:
        grace = timedelta(seconds=config.segment_grace_sec)
        super().__init__(folder, str(folder.path), clock, grace=grace, readers=_READERS)
        self.recovered = tuple(recovered)  # segments that dead processes had left open
        self._folder = folder
        self._scribe = WriterThread(
            Appender(
                folder,
                clock,
                segment_bytes=config.segment_bytes,
                segment_age_sec=config.segment_age_sec,
            ),
            patience_sec=DISK_TIMEOUT_SEC,
        )

    @classmethod
    async def open(cls, path: Path, clock: Clock, config: StoreConfig | None = None) -> "DiskBlobs":
        """The raw store of that folder, made if need be; torn tails are cut."""
        folder = SegmentFolder(path)
        recovered = await asyncio.to_thread(_prepare, folder)
        return cls(folder, clock, config or StoreConfig(), recovered)

    async def put(self, body: bytes, *, sha256: str) -> BlobRef:
        """Keep a body; durable when this returns."""
        check_sha256(sha256)
        return await self._scribe.put(sha256, body)

    async def seal(self) -> str | None:
        """End the segment that this process fills, and say its name."""
        return await self._scribe.seal()

    async def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first; those of processes that died since are sealed first."""

        def list_all() -> tuple[Segment, ...]:
            recover(self._folder)
            return tuple(self._folder.segments())

        return await self.run_in_thread(list_all)

    async def close(self) -> None:
        """Finish what was asked, seal the active segment, end the threads."""
        self._closed = True
        await self._scribe.close()
        await self.end_reading()


def _prepare(folder: SegmentFolder) -> tuple[Recovered, ...]:
    try:
        folder.make()
    except OSError as error:
        raise blob_error(error, str(folder.path)) from error
    return recover(folder)
