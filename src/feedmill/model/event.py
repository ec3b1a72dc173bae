"""Events of the gapless log, and entries, revisions and articles as they are stored."""
# Tested in tests/unit/interfaces/grpc/test_proto_file.py

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from feedmill.model.base import Value
from feedmill.model.derived.search import Highlight
from feedmill.model.entry import Author, EntryEnclosure, PublishedSource

EventType = Literal[
    "new_entry",
    "entry.updated",
    "entry.removed",
    "feed.added",
    "feed.removed",
    "feed.moved",
    "feed.move_held",
    "feed.merged",
    "feed.unmerged",
    "feed.rekeyed",
    "feed.quota",
    "feed.state",
    "host.state",
    "history.rewritten",
    "log.rewound",
    "fulltext.extracted",
    "fulltext.failed",
    "entry.clustered",
    "media.stored",
    "media.failed",
]


class NewEvent(Value):
    """An event before the log has given it its number."""

    type: EventType
    feed_id: str  # "" for an event of no feed: host.state, log.rewound
    occurred_at: datetime
    entry_uid: str | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Event(Value):
    """An event with its number; numbers never change, and have no gaps but before `log.rewound` (D29)."""

    seq: int
    id: str
    type: EventType
    feed_id: str
    occurred_at: datetime
    entry_uid: str | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Cursor(Value):
    """How far a consumer has read the log."""

    consumer: str
    seq: int
    behind: int  # events that it has not read
    unread_since: datetime | None = None  # when the oldest of them occurred


class Relayed(Value):
    """A batch that a bus has acknowledged, or events that it had acknowledged and lost."""

    bus: str
    events: int
    seq: int  # of the newest event that the bus has now
    lost: int = 0  # events that it had acknowledged and does not hold; they are delivered again


class RawRef(Value):
    """A pointer into the raw store (002 §5.2)."""

    fetch_id: str
    offset: int | None = None
    length: int | None = None
    note: str | None = None


class StoredEntry(Value):
    """An entry as it is kept (002 §5.2)."""

    entry_uid: str
    feed_id: str
    first_seen: datetime
    last_seen: datetime
    seen_count: int
    content_hash: str | None
    dedupe_key: str
    match_confidence: str
    guid: str | None = None
    link: str | None = None
    canonical_link: str | None = None
    title: str | None = None
    summary: str | None = None
    content: str | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    enclosures: tuple[EntryEnclosure, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    published_effective: datetime | None = None
    published_source: PublishedSource | None = None
    language: str | None = None
    image: str | None = None
    comments_url: str | None = None
    article_hash: str | None = None
    revisions: int = 0
    removed_at: datetime | None = None
    raw_refs: tuple[RawRef, ...] = ()
    backfill: bool = False  # it was first read from an archive page (RFC 5005)
    feed_url: str = ""  # without the tokens that some addresses contain
    feed_title: str | None = None
    article_id: str = ""  # the same for every entry that carries the article
    duplicate_of: str | None = None  # entry_uid of the first entry that carries the article
    cluster_id: str | None = None  # the story that other feeds tell too
    highlight: Highlight | UnsetType = UNSET  # of a search: what it found


class Revision(Value):
    """An earlier state of an entry, kept when it changed (D12)."""

    entry_uid: str
    number: int
    replaced_at: datetime
    changed: tuple[str, ...]
    content_hash: str | None
    title: str | None = None
    summary: str | None = None
    content: str | None = None
    canonical_link: str | None = None
    published: datetime | None = None
    updated: datetime | None = None
    fetch_id: str | None = None


class StoredArticle(Value):
    """Something that was published, however many feeds carried it (D10)."""

    article_hash: str
    first_seen: datetime
    link: str | None = None
    entry_uid: str | None = None  # of the entry that brought it; None when retention took it
    feed_id: str | None = None
    title: str | None = None
    published_effective: datetime | None = None
