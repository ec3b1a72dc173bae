"""Store protocols: what a document is compared with, its commit, stored entries, records of requests."""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.event import Revision, StoredArticle, StoredEntry
from feedmill.model.feed import FetchRecord
from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.page import EntryFilter, Page
from feedmill.model.refresh import Committed, ExistingEntries, Refresh
from feedmill.model.schedule import Decision, StoredArrival


class EntryStore(Protocol):
    """Stored entries, their revisions and articles."""

    async def entries(
        self,
        where: EntryFilter,
        *,
        after: str | None = None,
        before: str | None = None,  # the page in front of this cursor instead
        limit: int = 100,
    ) -> Page[StoredEntry]: ...
    # The same for a caller that only passes them on: each as encoded JSON.
    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[bytes]: ...
    async def entry(self, entry_uid: str) -> StoredEntry | None: ...
    async def entries_by_uid(self, entry_uids: Sequence[str]) -> dict[str, StoredEntry]: ...
    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]: ...
    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]: ...
    async def duplicates(self, entry_uid: str) -> tuple[StoredEntry, ...]: ...  # of other feeds
    async def count_duplicates(self, article_hashes: Sequence[str]) -> dict[str, int]: ...


class SearchStore(Protocol):
    """The search index, which commits keep up to date."""

    async def index_entries(
        self, after: int, limit: int, *, missing: bool = False
    ) -> tuple[int, int]: ...  # how many were indexed anew, and the number of the last
    async def count_unindexed(self) -> int: ...  # entries that are missing
    async def rebuild_search_index(self) -> None: ...  # from the tokens that are kept


class FetchStore(Protocol):
    """Records of requests, and the scheduling decisions after them."""

    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]: ...
    async def fetch(self, fetch_id: str) -> FetchRecord | None: ...
    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]: ...


class ArrivalStore(Protocol):
    """When the entries of a feed came out."""

    async def arrival_times(
        self, feed_id: str, since: datetime | None = None
    ) -> tuple[float, ...]: ...  # Unix seconds, in order
    async def stored_arrivals(
        self, feed_id: str, limit: int
    ) -> tuple[StoredArrival, ...]: ...  # what stored entries and fetches say, the oldest first
    async def purge_times(self, before: datetime) -> int: ...


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
    ) -> ExistingEntries: ...  # known and articles in one look
    async def unremoved_entries(
        self, feed_id: str
    ) -> tuple[KnownEntry, ...]: ...  # all that is not removed
    async def slice_digests(self, feed_id: str) -> frozenset[str]: ...
    async def articles(self, hashes: Sequence[str]) -> frozenset[str]: ...
    async def commit(self, refresh: Refresh) -> Committed: ...
