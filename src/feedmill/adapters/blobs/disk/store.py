"""The raw store on local disk: append-only segments, content-addressed through the store's index.

    put       appended and synced together with whatever else waits, by one thread (writer_thread.py)
    seal      by size, by age or on demand; a sealed segment never changes
    the rest  as in every raw store (blobs/base.py), in a folder (folder.py)

Several processes may share one folder: each appends to files of its own. A reader that meets
BlobMoved asks the index again, once: another process has re-encoded the segment meanwhile.

After a crash, segments of dead writers are cut behind their last intact record, and sealed.
"""

import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from feedmill.adapters.blobs.base import BaseBlobs
from feedmill.adapters.blobs.disk.folder import SegmentFolder
from feedmill.adapters.blobs.disk.writer_thread import Appender, WriterThread
from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.blobs.record import IntactRecord, iterate_records
from feedmill.config import StoreConfig
from feedmill.engine.ports.io import Clock
from feedmill.errors import BlobError
from feedmill.model.base import Value
from feedmill.model.running.worker import Segment

DISK_TIMEOUT_SEC: Final = 60.0  # with a disk that does not answer
_READERS: Final = 2


class Recovered(Value):
    """The result of recovering a segment that was not closed."""

    segment: str
    records: int = 0
    cut_bytes: int = 0
    problem: str | None = None  # why it could not be sealed now; it stays as it is, and readable


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
        self._writer = WriterThread(
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

    async def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first; those of processes that died since are sealed first."""

        def list_all() -> tuple[Segment, ...]:
            recover(self._folder)
            return tuple(self._folder.segments())

        return await self.run_in_thread(list_all)


def _prepare(folder: SegmentFolder) -> tuple[Recovered, ...]:
    try:
        folder.make()
    except OSError as error:
        if not folder.path.is_dir():
            raise blob_error(error, str(folder.path)) from error
        return ()  # a folder that can be read only: nothing is left open in it that could be sealed
    return recover(folder)


def recover(folder: SegmentFolder) -> tuple[Recovered, ...]:
    """Seal what dead processes left open; errors are reported, never raised: no crash loop."""
    left = [segment.name for segment in folder.segments() if not segment.sealed]
    found = [_recover_one(folder, name) for name in left]
    return tuple(one for one in found if one is not None)


def _recover_one(folder: SegmentFolder, name: str) -> Recovered | None:
    try:
        with folder.abandoned(name) as file:
            return None if file is None else _cut_and_seal(folder, name, file)
    except OSError as error:
        return Recovered(segment=name, problem=str(blob_error(error, f"segment {name}")))
    except BlobError as error:
        return Recovered(segment=name, problem=str(error))


def _cut_and_seal(folder: SegmentFolder, name: str, file: int) -> Recovered:
    size = os.fstat(file).st_size
    records = end = 0
    for step in iterate_records(lambda offset, length: os.pread(file, length, offset), size, name):
        # Only what follows the last intact record is a torn tail. Damage before it may be a
        # failing disk; cutting there would throw away what was acknowledged after it.
        if isinstance(step, IntactRecord):
            records, end = records + 1, step.offset + step.header.length
    if records == 0:
        folder.discard(name)
    else:
        os.ftruncate(file, end)
        folder.seal(name, file)
    return Recovered(segment=name, records=records, cut_bytes=size - end)
