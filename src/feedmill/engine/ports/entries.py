"""Ports: entries and all that is stored with them, and the event log with those whom it is delivered to.

Store protocols: what a document is compared with, its commit, stored entries, records of requests, exports, clusters, full texts;
the event log with its cursors, webhook endpoints. Sinks and buses that events go to.
"""
# Tested in tests/contracts/

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.base import Value
from feedmill.model.derived.cluster import (
    Cluster,
    ClusterChange,
    ClusterMember,
    Mirrors,
    SketchBatch,
    StoredStory,
)
from feedmill.model.derived.fetched import ExtractedText, FullText, NoFullText, PageTask
from feedmill.model.event import Cursor, Event, NewEvent, Revision, StoredArticle, StoredEntry
from feedmill.model.feed import BlobRef, FetchRecord
from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.page import EntryFilter, LinePage, Page
from feedmill.model.refresh import Committed, ExistingEntries, Refresh, StoredDocument
from feedmill.model.running.export import ExportBatch, ExportFilter, ExportName, ExportRow
from feedmill.model.running.job import JobStep
from feedmill.model.running.webhook import DeadLetter, Settlement, Webhook
from feedmill.model.schedule import Decision, StoredArrival


class EntryStore(Protocol):
    """Stored entries, their revisions and articles."""

    # Changes with every commit of any process: what was read at the same number is still true. None: ask.
    def version(self) -> int | None: ...

    async def entries(
        self,
        where: EntryFilter,
        *,
        after: str | None = None,
        before: str | None = None,  # the page in front of this cursor instead
        limit: int = 100,
    ) -> Page[StoredEntry]: ...
    # The same for a caller that only passes them on: each as a line of JSON.
    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> LinePage: ...
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
    async def stored_document(
        self, feed_id: str, body_sha256: str
    ) -> StoredDocument: ...  # `blob` and `current_document` in one look
    async def load_existing(
        self, feed_id: str, keys: Sequence[IdentityKey], article_hashes: Sequence[str]
    ) -> ExistingEntries: ...  # `known`, `articles` and `live_screen_state` in one look
    async def unremoved_entries(
        self, feed_id: str
    ) -> tuple[KnownEntry, ...]: ...  # all that is not removed
    async def articles(self, hashes: Sequence[str]) -> frozenset[str]: ...
    async def commit(self, refresh: Refresh) -> Committed: ...


class ExportStore(Protocol):
    """Rows of every table that can be exported, page by page."""

    async def export_batch(
        self, name: ExportName, where: ExportFilter, *, after: str | None = None, limit: int = 1_000
    ) -> ExportBatch: ...


class ExportWriter(Protocol):
    """A file of one format; rows are durable enough for a crash of this process once `flush` returns."""

    async def write(self, rows: Sequence[ExportRow]) -> None: ...
    def flush(self) -> int: ...  # the size that the file may be cut to when an export is resumed
    def close(self) -> None: ...  # also after an error: what was written stays readable


ClusterEvents = Callable[[Sequence[ClusterChange]], Sequence[NewEvent]]


class ClusterStore(Protocol):
    """The same story in several feeds."""

    async def story_texts(self, entry_uids: Sequence[str]) -> tuple[StoredStory, ...]: ...
    async def save_sketches(
        self, batch: SketchBatch, *, events: ClusterEvents, step: JobStep | None = None
    ) -> tuple[ClusterChange, ...] | None: ...  # None: the job was lost
    async def repair_clusters(
        self, *, at: datetime, most: int, limit: int, events: ClusterEvents
    ) -> int: ...
    async def clusters(
        self, *, min_feeds: int = 2, after: str | None = None, limit: int = 100
    ) -> Page[Cluster]: ...
    async def cluster(self, cluster_id: str) -> Cluster | None: ...
    async def cluster_members(self, cluster_id: str) -> tuple[ClusterMember, ...]: ...
    async def mirrors(
        self, *, min_common: int, min_share: float, limit: int
    ) -> tuple[Mirrors, ...]: ...


class Extractor(Protocol):
    """The text of a page, sanitised; a page that breaks it costs a deadline and nothing else."""

    async def extract(self, task: PageTask) -> ExtractedText | NoFullText: ...


class FullTextStore(Protocol):
    """Full texts, one per entry."""

    async def save_full_text(
        self,
        found: FullText,
        *,
        blob: BlobRef | None = None,
        events: Sequence[NewEvent] = (),
        step: JobStep | None = None,
    ) -> bool: ...  # False: the entry is gone, or the job was lost
    async def full_text(self, entry_uid: str) -> FullText | None: ...
    async def full_texts_of(
        self, entry_uids: Sequence[str]
    ) -> dict[str, FullText]: ...  # that were extracted
    async def full_texts(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[FullText]: ...
    async def last_page_at(self, url: str) -> datetime | None: ...  # of the host of the address


class EventLog(Protocol):
    """The event log with its gapless sequence, and the cursors of its consumers."""

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]: ...
    async def last_seq(self) -> int: ...
    async def append_rewound(self, delivered: "NewestEvent", now: datetime) -> bool: ...
    async def cursor(self, consumer: str) -> int: ...
    async def set_cursor(self, consumer: str, seq: int) -> None: ...
    async def cursors(self) -> tuple[Cursor, ...]: ...
    async def drop_cursor(self, consumer: str) -> bool: ...


class Sink(Protocol):
    """Where events go: at least once, in order, resumable by their number."""

    name: str

    async def deliver(self, events: Sequence[Event]) -> None: ...
    async def close(self) -> None: ...


class NewestEvent(Value):
    """The newest event that a bus or a file holds, or that a reader was told."""

    seq: int  # 0: it has never held any
    id: str | None = None  # None: it was purged meanwhile, or is unknown


class Bus(Sink, Protocol):
    """A sink that other programs read; it may know what it holds."""

    async def newest(self) -> NewestEvent | None: ...  # None: it cannot tell


class WebhookStore(Protocol):
    """Webhook endpoints, their cursors, leases and dead letters."""

    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None: ...
    async def webhook(self, webhook_id: str) -> Webhook | None: ...
    async def webhooks(self) -> tuple[Webhook, ...]: ...
    async def change_webhook(self, webhook: Webhook) -> bool: ...
    async def remove_webhook(self, webhook_id: str) -> bool: ...
    async def rewind_webhook(self, webhook_id: str, after: int) -> bool: ...
    async def lease_webhooks(
        self, owner: str, *, now: datetime, until: datetime
    ) -> frozenset[str]: ...  # active ones that no other process holds
    async def release_webhooks(self, owner: str) -> None: ...
    async def settle_webhook(self, settlement: Settlement) -> bool: ...  # False: overtaken
    async def dead_letters(
        self, webhook_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[DeadLetter]: ...
    async def delete_dead_letters(self, letter_ids: Sequence[str]) -> int: ...
