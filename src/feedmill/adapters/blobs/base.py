"""Base class of the raw stores on disk and in a bucket: reading, re-encoding, sweeping, verifying.

get       by range, checked every time, on threads of its own: a slow write delays no reader
reencode  sealed segments → one packed one; then the caller moves the index
sweep     what nothing points into goes after a grace period
verify    index ↔ bytes
carry     a whole sealed segment out of one raw store and into another, byte for byte
"""
# Tested in tests/contracts/blobs/

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final, Protocol, TypeVar

from feedmill.adapters.blobs.errors import blob_error, closed_error
from feedmill.adapters.blobs.record import (
    PACKED_SUFFIX,
    IntactRecord,
    Item,
    ReadAt,
    SegmentSource,
    SegmentStorage,
    iterate_records,
    payload_of,
    ref_of,
)
from feedmill.adapters.blobs.sealed_segments import (
    Bodies,
    BodyReader,
    open_reader,
    reencode,
    sweep,
    verify_segments,
)
from feedmill.engine.ports.io import Clock
from feedmill.errors import BlobError, UsageError
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import BlobProblem, Fate, RawNote, Segment

T = TypeVar("T")

_SHA256_BYTES = 32
_NOTED: Final = 4_096  # feeds with a body that has its note


class ItemWriter(Protocol):
    """Whatever makes items durable, many at once."""

    async def put(self, item: Item) -> BlobRef: ...  # no body twice, but every note
    async def seal(self) -> str | None: ...  # the name of what was filled since the last time
    async def close(self) -> None: ...


class BaseBlobs:
    """What every raw store does; how new items are written is its own (`_writer`)."""

    _writer: ItemWriter

    def __init__(
        self, storage: SegmentStorage, place: str, clock: Clock, *, grace: timedelta, readers: int
    ) -> None:
        self._storage, self._place, self._clock, self._grace = storage, place, clock, grace
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="feedmill-blobs-read")
        self._closed = False
        self._noted: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def put(self, body: bytes, *, sha256: str, note: bytes = b"") -> BlobRef:
        """Keep a body; durable when this returns, and in a bucket readable from everywhere."""
        check_sha256(sha256)
        return await self._writer.put(Item(sha256, body, note))

    async def annotate(self, sha256: str, note: bytes) -> None:
        """Keep a note about a body that is kept already; durable when this returns."""
        check_sha256(sha256)
        await self._writer.put(Item(sha256, None, note))

    async def seal(self) -> str | None:
        """End the segment that this process fills, or send off what is gathered; its name."""
        return await self._writer.seal()

    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes:
        """The exact bytes of a body; the prefix is found by itself when it is not at hand."""

        def read() -> bytes:
            with open_reader(self._storage) as source:
                return source.body(ref, prefix)

        return await self.run_in_thread(read)

    async def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first."""
        return await self.run_in_thread(lambda: tuple(self._storage.segments()))

    async def reencode(self, bodies: Bodies) -> tuple[BlobRef, ...]:
        """One new packed segment with all the bodies; the old ones stay until they are swept."""
        return await self.reencode_from(None, bodies)

    async def reencode_from(
        self, source: SegmentSource | None, bodies: Bodies
    ) -> tuple[BlobRef, ...]:
        """The same, with bodies that are read somewhere nearer than in the storage."""
        if not bodies:
            return ()
        name = f"{self._clock.new_id()}{PACKED_SUFFIX}"
        return await self.run_in_thread(lambda: reencode(self._storage, name, bodies, source))

    async def sweep(self, segment: str, live: Sequence[BlobRef]) -> Fate:
        """What becomes of a segment into which the index points with `live`."""
        now = self._clock.now()
        return await self.run_in_thread(
            lambda: sweep(self._storage, segment, live, now=now, grace=self._grace)
        )

    async def drop(self, segment: str) -> None:
        """Delete a sealed segment at once; `sweep` is the patient way."""
        await self.run_in_thread(lambda: self._storage.remove(segment))

    async def verify(
        self, refs: Sequence[BlobRef], *, only: Collection[str] | None = None
    ) -> tuple[BlobProblem, ...]:
        """Everything that does not hold between these index rows and the bytes."""
        return await self.run_in_thread(lambda: verify_segments(self._storage, refs, only))

    async def read_segment(self, segment: str) -> bytes:
        """The bytes of a whole segment; BlobMoved when it is gone."""

        def read() -> bytes:
            with self._storage.reading(segment) as read_at:
                return read_at(0, self._storage.size(segment))

        return await self.run_in_thread(read)

    async def write_segment(self, segment: str, data: bytes) -> None:
        """Keep a segment of another raw store; durable when this returns."""
        await self.run_in_thread(lambda: self._storage.adopt(segment, data))

    async def contents(self, segment: str, *, checked: bool = False) -> tuple[BlobRef, ...]:
        """Where each body of a segment lies, as its record says; BlobMoved when it is gone.

        With `checked`, only records whose bytes are as they were written.
        """

        def read() -> tuple[BlobRef, ...]:
            with self._storage.reading(segment) as read_at:
                size = self._storage.size(segment)
                steps = iterate_records(read_at, size, segment, payloads=checked)
                refs = [ref_of(one, segment) for one in steps if isinstance(one, IntactRecord)]
                return tuple(ref for ref in refs if ref is not None)

        return await self.run_in_thread(read)

    async def notes(self, segment: str, *, moved: Collection[str] = ()) -> tuple[RawNote, ...]:
        """The notes of a segment, except those that stand with a body that was `moved`."""

        def read() -> tuple[RawNote, ...]:
            with self._storage.reading(segment) as read_at, open_reader(self._storage) as source:
                size = self._storage.size(segment)
                steps = iterate_records(read_at, size, segment, payloads=False)
                found = [
                    _note(one, segment, read_at, source, moved)
                    for one in steps
                    if isinstance(one, IntactRecord)
                ]
                return tuple(one for one in found if one is not None)

        return await self.run_in_thread(read)

    def is_noted(self, feed_id: str, sha256: str) -> bool:
        """True when this process has kept that body for that feed lately."""
        return (feed_id, sha256) in self._noted

    def remember_note(self, feed_id: str, sha256: str) -> None:
        """Remember that the body is kept with a note for that feed."""
        self._noted[feed_id, sha256] = None
        self._noted.move_to_end((feed_id, sha256))
        if len(self._noted) > _NOTED:
            self._noted.popitem(last=False)

    async def owner(self) -> str | None:
        """The id of the store that indexes these segments; None when none was written."""
        return await self.run_in_thread(self._storage.owner)

    async def set_owner(self, store_id: str, *, instead_of: str | None = None) -> str:
        """Write the owner, unless it is not `instead_of`; the one that is there afterwards."""
        return await self.run_in_thread(
            lambda: self._storage.set_owner(store_id, instead_of=instead_of)
        )

    @property
    def place(self) -> str:
        """The folder or the address, as it may be shown."""
        return self._place

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Do blocking work on a reading thread; the disk's errors become ours."""
        if self._closed:
            raise closed_error()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        except OSError as error:
            raise blob_error(error, self._place) from error

    async def close(self) -> None:
        """Refuse whatever is asked from now on, finish what was asked, and end the threads."""
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._readers.shutdown)


def _note(
    record: IntactRecord,
    segment: str,
    read_at: ReadAt,
    source: BodyReader,
    moved: Collection[str],
) -> RawNote | None:
    """The note of a record; None when it has none, moved with its body, or cannot be read."""
    ref = ref_of(record, segment)
    if record.header.note_length == 0 or (ref is not None and ref.sha256 in moved):
        return None
    if ref is None:
        data = read_at(record.offset, record.header.length)
        note = payload_of(data, record.header, segment)
        return RawNote(sha256=record.header.sha256, note=note) if note else None
    try:
        return RawNote(sha256=ref.sha256, note=source.note_and_body(ref)[0])
    except BlobError:  # verify tells about it
        return None


def check_sha256(sha256: str) -> None:
    """UsageError for a name that is no hash."""
    try:
        good = len(bytes.fromhex(sha256)) == _SHA256_BYTES and sha256 == sha256.lower()
    except ValueError:
        good = False
    if not good:
        message = f"{sha256!r} is not a SHA-256 in lower-case hexadecimal"
        raise UsageError(message)
