"""Store protocol: what a document is compared with, and the one transaction that stores the result."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.refresh import Committed, ExistingEntries, Refresh


class CommitStore(Protocol):
    """What a document is compared with, and the one transaction that stores the result."""

    async def known(
        self, feed_id: str, keys: Sequence[IdentityKey], digests: Sequence[str]
    ) -> tuple[KnownEntry, ...]: ...
    async def current_document(
        self, feed_id: str, *, with_keys: bool = True
    ) -> tuple[KnownEntry, ...]: ...
    async def load_existing(
        self,
        feed_id: str,
        keys: Sequence[IdentityKey],
        article_hashes: Sequence[str],
        *,
        publications: int,  # how many of the newest publication times
    ) -> ExistingEntries: ...  # known, articles and publications in one look
    async def unremoved_entries(
        self, feed_id: str
    ) -> tuple[KnownEntry, ...]: ...  # all that is not removed
    async def slice_digests(self, feed_id: str) -> frozenset[str]: ...
    async def articles(self, hashes: Sequence[str]) -> frozenset[str]: ...
    async def publications(self, feed_id: str, limit: int) -> tuple[datetime, ...]: ...
    async def commit(self, refresh: Refresh) -> Committed: ...
