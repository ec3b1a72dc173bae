"""Ports: raw bytes, durable before anything reads them, and their index."""
# Tested in tests/contracts/

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.feed import BlobRef
from feedmill.model.running.storage import BlobProblem, Fate, RawNote, Segment, StoreIdentity


class Blobs(Protocol):
    """Raw bytes by content: append-only segments, hash-checked on every read (D14)."""

    # durable when they return; a note says which fetch brought the body
    async def put(self, body: bytes, *, sha256: str, note: bytes = b"") -> BlobRef: ...
    async def annotate(self, sha256: str, note: bytes) -> None: ...  # of a body that is kept
    async def notes(
        self, segment: str, *, moved: Collection[str] = ()
    ) -> tuple[RawNote, ...]: ...  # but those that stand with a body that moved
    def is_noted(self, feed_id: str, sha256: str) -> bool: ...  # lately, by this process
    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes: ...

    # housekeeping: re-encode → move the index → sweep the old segment until it is dropped
    async def seal(self) -> str | None: ...  # the segment that this process was filling
    async def segments(self) -> tuple[Segment, ...]: ...
    async def reencode(
        self,
        bodies: Sequence[tuple[BlobRef, str | None]],  # with the feed's previous body, oldest first
    ) -> tuple[BlobRef, ...]: ...  # without those that cannot be read any more
    async def sweep(self, segment: str, live: Sequence[BlobRef]) -> Fate: ...
    async def drop(self, segment: str) -> None: ...  # at once, even while it is read
    async def verify(
        self,
        refs: Sequence[BlobRef],
        *,
        only: Collection[str] | None = None,  # these segments; else all, and things not ours
    ) -> tuple[BlobProblem, ...]: ...
    async def read_segment(self, segment: str) -> bytes: ...  # whole, to another raw store
    async def write_segment(self, segment: str, data: bytes) -> None: ...  # durable when it returns
    async def contents(
        self, segment: str, *, checked: bool = False
    ) -> tuple[BlobRef, ...]: ...  # index rows, out of the records of the segment
    # the id of the store that indexes these segments (D36)
    async def owner(self) -> str | None: ...
    async def set_owner(
        self, store_id: str, *, instead_of: str | None = None
    ) -> str: ...  # the owner afterwards: another one when it was not `instead_of`
    async def close(self) -> None: ...

    @property
    def place(self) -> str: ...  # a folder or an address, as it may be shown


class RawIndex(Protocol):
    """The index of the raw store: which body lies in which segment."""

    async def blob(self, sha256: str) -> BlobRef | None: ...
    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]: ...
    async def move_blobs(self, refs: Sequence[BlobRef]) -> None: ...
    async def delete_blobs(self, sha256s: Sequence[str]) -> None: ...
    async def expired_blobs(
        self, *, keep_last: int, before: datetime, keep_samples: int = 0
    ) -> tuple[str, ...]: ...  # samples: documents that were repaired or could not be read
    async def blobs_over_quota(
        self, most_bytes: int
    ) -> tuple[tuple[str, str, int], ...]: ...  # feed, hash, stored length
    async def blob_chains(
        self, segments: Sequence[str]
    ) -> tuple[tuple[BlobRef, str | None], ...]: ...  # per feed, oldest first, with the one before
    async def known_blobs(self, sha256s: Sequence[str]) -> dict[str, str]: ...  # their segments
    async def segments_in_use(self) -> frozenset[str]: ...
    async def released_segments(self) -> frozenset[str]: ...  # pointers into them were removed here
    async def forget_released(self, segments: Sequence[str]) -> None: ...
    async def adopt_blobs(self, refs: Sequence[BlobRef], *, now: datetime) -> int: ...
    async def store_identity(self) -> StoreIdentity: ...
    async def store_id(self) -> str: ...  # the same id, asked for once
    async def confirm_raw_place(self, place: str) -> None: ...
