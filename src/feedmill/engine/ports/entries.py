"""Store protocol: stored entries, their revisions and articles."""

from typing import Protocol

from feedmill.model.entry_filter import EntryFilter
from feedmill.model.event import Revision, StoredArticle, StoredEntry
from feedmill.model.page import Page


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
    # The same for whoever only passes it on: each as the JSON that an encoder makes of it.
    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[bytes]: ...
    async def entry(self, entry_uid: str) -> StoredEntry | None: ...
    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]: ...
    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]: ...
