"""Store protocol: the index of the raw store: which body lies in which segment."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.feed import BlobRef


class RawIndex(Protocol):
    """The index of the raw store: which body lies in which segment."""

    async def blob(self, sha256: str) -> BlobRef | None: ...
    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]: ...
    async def move_blobs(self, refs: Sequence[BlobRef]) -> None: ...
    async def forget_blobs(self, sha256s: Sequence[str]) -> None: ...
    async def spent_blobs(self, *, keep_last: int, before: datetime) -> tuple[str, ...]: ...
    async def raw_chains(
        self, segments: Sequence[str]
    ) -> tuple[tuple[BlobRef, str | None], ...]: ...  # per feed, oldest first, with the one before
