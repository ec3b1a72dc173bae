"""The raw store on local disk: append-only segments, content-addressed through the store's index.

    put       appended and synced together with whatever else waits, by one thread (scribe.py)
    get       by range, checked every time, on two threads of its own: a slow sync delays no reader
    seal      by size, by age or on demand; a sealed segment never changes
    reencode  sealed segments → one packed one; then the caller moves the index
    sweep     what nothing points into goes after a grace period
    verify    index ↔ bytes

Several processes may share one folder: each appends to files of its own. A reader that meets
BlobMoved asks the index again, once: another process has re-encoded the segment meanwhile.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

from feedmill.adapters.blobs.appender import Appender
from feedmill.adapters.blobs.faults import blob_error, closed
from feedmill.adapters.blobs.folder import PACKED, Folder
from feedmill.adapters.blobs.reading import reader
from feedmill.adapters.blobs.recovery import Recovered, recover
from feedmill.adapters.blobs.reencode import reencode
from feedmill.adapters.blobs.scribe import Scribe
from feedmill.adapters.blobs.sweep import sweep
from feedmill.adapters.blobs.verify import verify
from feedmill.config import StoreConfig
from feedmill.engine.ports import Clock
from feedmill.errors import UsageError
from feedmill.model.feed import BlobRef
from feedmill.model.segment import BlobProblem, Fate, Segment

T = TypeVar("T")

PATIENCE_SEC: Final = 60.0  # with a disk that does not answer
_READERS: Final = 2
_SHA256_BYTES: Final = 32


class SegmentBlobs:
    """Blobs in a folder; `await SegmentBlobs.open(…)` repairs first what a crash left."""

    def __init__(
        self, folder: Folder, clock: Clock, config: StoreConfig, recovered: Sequence[Recovered] = ()
    ) -> None:
        self.recovered = tuple(recovered)  # segments that dead processes had left open
        self._folder, self._clock = folder, clock
        self._grace = timedelta(seconds=config.segment_grace_sec)
        self._scribe = Scribe(
            Appender(
                folder,
                clock,
                segment_bytes=config.segment_bytes,
                segment_age_sec=config.segment_age_sec,
            ),
            patience_sec=PATIENCE_SEC,
        )
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="feedmill-blobs-read")
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, clock: Clock, config: StoreConfig | None = None
    ) -> "SegmentBlobs":
        """The raw store of that folder, made if need be; torn tails are cut."""
        folder = Folder(path)
        recovered = await asyncio.to_thread(_prepare, folder)
        return cls(folder, clock, config or StoreConfig(), recovered)

    async def put(self, body: bytes, *, sha256: str) -> BlobRef:
        """Keep a body; durable when this returns."""
        _check(sha256)
        return await self._scribe.put(sha256, body)

    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes:
        """The exact bytes of a body; the prefix is found by itself when it is not at hand."""

        def read() -> bytes:
            with reader(self._folder) as source:
                return source.body(ref, prefix)

        return await self._aside(read)

    async def seal(self) -> str | None:
        """End the segment that this process fills, and say its name."""
        return await self._scribe.seal()

    async def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first; those of processes that died since are sealed first."""

        def list_all() -> tuple[Segment, ...]:
            recover(self._folder)
            return tuple(self._folder.segments())

        return await self._aside(list_all)

    async def reencode(self, bodies: Sequence[tuple[BlobRef, str | None]]) -> tuple[BlobRef, ...]:
        """One new packed segment with all the bodies; the old ones stay until they are swept."""
        if not bodies:
            return ()
        name = f"{self._clock.new_id()}{PACKED}"
        return await self._aside(lambda: reencode(self._folder, name, bodies))

    async def sweep(self, segment: str, live: Sequence[BlobRef]) -> Fate:
        """What becomes of a segment into which the index points with `live`."""
        now = self._clock.now()
        return await self._aside(
            lambda: sweep(self._folder, segment, live, now=now, grace=self._grace)
        )

    async def drop(self, segment: str) -> None:
        """Delete a sealed segment at once; `sweep` is the patient way."""
        await self._aside(lambda: self._folder.remove(segment))

    async def verify(self, refs: Sequence[BlobRef]) -> tuple[BlobProblem, ...]:
        """Everything that does not hold between these index rows and the bytes."""
        return await self._aside(lambda: verify(self._folder, refs))

    async def close(self) -> None:
        """Finish what was asked, seal the active segment, end the threads."""
        self._closed = True
        await self._scribe.close()
        await asyncio.to_thread(self._readers.shutdown)

    async def _aside(self, work: Callable[[], T]) -> T:
        """Do blocking work on a reading thread; the disk's errors become ours."""
        if self._closed:
            raise closed()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        except OSError as error:
            raise blob_error(error, str(self._folder.path)) from error


def _prepare(folder: Folder) -> tuple[Recovered, ...]:
    try:
        folder.make()
    except OSError as error:
        raise blob_error(error, str(folder.path)) from error
    return recover(folder)


def _check(sha256: str) -> None:
    try:
        good = len(bytes.fromhex(sha256)) == _SHA256_BYTES and sha256 == sha256.lower()
    except ValueError:
        good = False
    if not good:
        message = f"{sha256!r} is not a SHA-256 in lower-case hexadecimal"
        raise UsageError(message)
