"""What a move carries: every table of both stores, in an order that foreign keys allow.

Rows have one shape in both, so a table is described by what differs: texts that the new store finds
by their digest, JSON that it has to be able to read, and what belongs to a process of the old store
and means nothing in the new one. Signs of life (`workers`) and turns (`leases`) stay behind.

The schedule comes last. A worker that is started on the new store too early finds nothing to poll.
"""
# Tested in tests/integration/adapters/store/transfer/

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

Key = tuple[int | str, ...]


class Table(Struct, frozen=True, kw_only=True):
    """One kind of rows; `key` is unique, and both stores are read in its order."""

    name: str
    key: tuple[str, ...]
    source: str = ""  # its name in SQLite, where that is another
    number: str | None = None  # the column that the new store counts on by itself
    digests: Mapping[str, str] = field(default_factory=dict)  # a column: the text it is a digest of
    copies: Mapping[str, str] = field(default_factory=dict)  # a column: the one it has to equal
    json: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns that SQLite alone has, made of others
    blank: tuple[str, ...] = ()  # of a process that is gone: NULL in the new store
    free_text: tuple[str, ...] = ()  # of the key: chosen by users
    unique: tuple[str, ...] = ()  # what two rows may share once their NUL was replaced

    @property
    def old_name(self) -> str:
        """The table in SQLite."""
        return self.source or self.name


TABLES: Final = (
    Table(
        name="lanes",
        key=("lane_id",),
        number="lane_id",
        copies={"host": "lane_key"},
        json=("limited_urls",),
        blank=("owner",),
    ),
    Table(
        name="feeds",
        key=("feed_no",),
        number="feed_no",
        json=(
            "tags", "overrides", "vary", "hints", "hubs", "ignored_guids", "ignored_links", "move",
            "arrivals", "errors", "quota", "volatile_fields",
        ),
    ),
    Table(name="arrival_times", key=("feed_no", "month")),
    Table(
        name="feed_tags",
        key=("feed_no", "tag"),
        free_text=("tag",),
        unique=("feed_no", "tag"),
    ),
    Table(
        name="feed_aliases",
        key=("feed_no", "url_hash"),
        digests={"url_hash": "url"},
        unique=("url_hash",),
    ),
    Table(name="feed_moves", key=("move_id",), number="move_id"),
    Table(name="merged_feeds", key=("feed_no",), json=("aliases", "given_tags")),
    Table(name="header_blocks", key=("block_id",), number="block_id", json=("block",)),
    Table(
        name="fetches",
        key=("feed_no", "scheduled_at"),
        number="fetch_no",
        json=("request_delta", "response_delta", "hops", "repairs", "decision"),
    ),
    Table(name="feed_days", key=("day", "feed_no")),
    Table(name="feed_failures", key=("day", "feed_no", "outcome", "status")),
    Table(name="poll_totals", key=("start", "span_sec", "writer"), json=("totals",)),
    Table(
        name="entries",
        key=("entry_id",),
        number="entry_id",
        json=("authors", "categories", "enclosures", "field_digests"),
    ),
    Table(name="tombstones", key=("entry_id",)),
    Table(
        name="entry_identities",
        key=("entry_id", "key_type", "key_hash"),
        digests={"key_hash": "key_value"},
        left_out=("lookup_hash", "lookup_no"),
        unique=("key_hash", "key_type"),
    ),
    Table(name="articles", key=("article_hash",)),
    Table(name="entry_revisions", key=("entry_id", "number"), json=("changed",)),
    Table(name="entry_aliases", key=("entry_uid",)),
    Table(name="fulltexts", key=("entry_id",)),
    Table(name="entry_search", key=("entry_id",)),
    Table(name="cluster_sketches", key=("entry_id",)),
    Table(name="cluster_keys", key=("entry_id", "key")),
    Table(name="cluster_edges", key=("entry_id", "other_id")),
    Table(name="clusters", key=("cluster_no",)),
    Table(name="media", key=("media_no",), number="media_no"),
    Table(name="media_files", key=("sha256",)),
    Table(name="events", source="outbox", key=("seq",), json=("data",)),
    Table(
        name="consumer_cursors",
        key=("consumer",),
        free_text=("consumer",),
        unique=("consumer",),
    ),
    Table(name="blobs", key=("sha256",)),
    Table(name="adopted_blobs", key=("sha256",)),
    Table(name="released_segments", key=("segment",)),
    Table(
        name="import_outlines",
        key=("list_id", "url_hash"),
        digests={"url_hash": "url"},
        unique=("list_id", "url_hash"),
    ),
    Table(name="tokens", key=("id",), json=("scopes",)),
    Table(name="token_secrets", key=("sha256",)),
    Table(
        name="webhooks",
        key=("id",),
        json=("secrets", "types"),
        blank=("owner", "lease_until"),
    ),
    Table(name="dead_letters", key=("number",), number="number", json=("events",)),
    Table(name="confirmations", key=("code",), json=("candidate_ids",)),
    Table(name="collected_documents", key=("collected_no",), number="collected_no"),
    Table(name="standing_screens", key=("id",), json=("topics",)),
    Table(name="held_entries", key=("held_no",), number="held_no", json=("screening",)),
    Table(
        name="jobs",
        key=("job_id",),
        number="job_id",
        json=("payload", "cursor", "progress"),
        blank=("owner",),
        unique=("kind", "key"),
    ),
    Table(name="job_budgets", key=("kind", "host", "day")),
    Table(name="push_subscriptions", key=("subscription_id",), number="subscription_id"),
    Table(name="feed_sched", key=("feed_no",)),
)  # fmt: skip

# What stays: processes of the old store, and how each store keeps itself.
LEFT_BEHIND: Final = frozenset({"workers", "leases", "schema_versions", "store_identity"})
