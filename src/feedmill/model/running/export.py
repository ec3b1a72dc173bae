"""What can be exported: the fields of each table with their kinds, and which rows of it."""
# Tested in tests/contracts/store/test_exports.py

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from feedmill.model.base import Value

ExportName = Literal["entries", "articles", "fetches", "decisions", "feeds"]
ExportFormat = Literal["ndjson", "csv", "parquet", "sqlite", "warc"]
FieldKind = Literal[
    "text",
    "address",  # a text that is shown without the tokens that some addresses contain
    "integer",
    "real",
    "flag",
    "instant",  # ISO 8601 in UTC with microseconds, so that texts sort like times
    "texts",  # a list of texts, as JSON
    "addresses",  # a list of such texts, as JSON
    "json",
]
ExportRow = tuple[Any, ...]  # as the kinds say; None where there is nothing


class Field(NamedTuple):
    """One column of an export."""

    name: str
    kind: FieldKind


class ExportFilter(Value):
    """Which rows: of entries and articles by first_seen, of polls by scheduled_at, of feeds by created_at."""

    since: datetime | None = None  # inclusive
    until: datetime | None = None  # exclusive
    feed_id: str | None = None
    tag: str | None = None


class ExportBatch(Value):
    """Rows in the order of the table's key, and the cursor behind the last of them."""

    rows: tuple[ExportRow, ...]
    cursor: str | None
    complete: bool  # there are no more


class ExportPosition(Value):
    """How far an export has come: rows and bytes that are in the file, and the cursor behind them."""

    cursor: str | None = None
    rows: int = 0
    file_bytes: int = 0
    complete: bool = False


def _fields(*runs: tuple[FieldKind, str]) -> tuple[Field, ...]:
    """The fields in order: runs of names of one kind."""
    return tuple(Field(name, kind) for kind, names in runs for name in names.split())


# The first field is the key of the table. A view of this name and `_view` has the same columns in every store.
EXPORTS: Final[dict[ExportName, tuple[Field, ...]]] = {
    "entries": _fields(
        ("text", "entry_uid feed_id"),
        ("address", "feed_url"),
        ("text", "feed_title guid link canonical_link title summary content"),
        ("json", "authors"),
        ("texts", "categories"),
        ("json", "enclosures"),
        ("instant", "published updated published_effective"),
        ("text", "published_source"),
        ("instant", "first_seen last_seen"),
        ("integer", "seen_count"),
        ("text", "language image comments_url"),
        ("integer", "revisions"),
        ("instant", "removed_at"),
        ("flag", "backfill"),
        ("text", "content_hash"),
        ("address", "dedupe_key"),
        ("text", "match_confidence article_hash article_id duplicate_of cluster_id"),
        ("json", "raw_refs"),
    ),
    "articles": _fields(
        ("text", "article_hash link"),
        ("instant", "first_seen"),
        ("text", "entry_uid feed_id"),
        ("address", "feed_url"),
        ("text", "title"),
        ("instant", "published_effective"),
    ),
    "fetches": _fields(
        ("text", "fetch_id feed_id"),
        ("address", "feed_url"),
        ("instant", "scheduled_at fetched_at"),
        ("address", "url final_url"),
        ("text", "outcome"),
        ("integer", "http_status"),
        ("text", "detail"),
        ("json", "request_headers response_headers"),
        ("text", "body_sha256 content_type"),
        (
            "integer",
            "content_length wire_length elapsed_ms entries_seen entries_new entries_updated",
        ),
        ("texts", "repairs"),
        ("flag", "truncated"),
        ("text", "trace_id"),
        ("real", "interval_sec"),
        ("integer", "saved_bytes retries"),
    ),
    "decisions": _fields(
        ("text", "fetch_id feed_id"),
        ("address", "feed_url"),
        ("instant", "scheduled_at decided_at"),
        ("text", "reason outcome"),
        ("integer", "http_status new_entries"),
        ("real", "retry_after_sec"),
        ("text", "failure"),
        ("real", "interval_before_sec interval_sec delay_sec"),
        ("instant", "next_poll_at"),
        ("json", "steps hints"),
    ),
    "feeds": _fields(
        ("text", "feed_id"),
        ("address", "url"),
        ("text", "title"),
        ("address", "site_url"),
        ("text", "type"),
        ("texts", "tags"),
        ("flag", "paused"),
        ("text", "health"),
        ("instant", "created_at"),
        ("real", "interval_sec"),
        ("instant", "next_poll_at"),
        ("text", "reason etag last_modified"),
        ("instant", "last_decision_at last_fetch_at last_success_at"),
        ("text", "last_result"),
        ("integer", "last_status"),
        ("text", "last_detail"),
        ("integer", "consecutive_failures"),
        ("real", "ewma_interarrival_sec"),
        ("integer", "new_entries_last_fetch"),
        ("address", "self_url"),
        ("addresses", "hubs"),
    ),
}
