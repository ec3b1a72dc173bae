"""Store protocols: stored entries with revisions and articles, and the records of requests."""

from typing import Protocol

from feedmill.model.base import EntryFilter, Page
from feedmill.model.event import Revision, StoredArticle, StoredEntry
from feedmill.model.feed import FetchRecord
from feedmill.model.schedule import Decision


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
    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]: ...
    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]: ...


class FetchStore(Protocol):
    """Records of requests, and the scheduling decisions after them."""

    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]: ...
    async def fetch(self, fetch_id: str) -> FetchRecord | None: ...
    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]: ...
