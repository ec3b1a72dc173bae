"""Many rows for one statement: a column of them is an array, and `unnest` makes them rows again."""

from collections.abc import Sequence
from typing import Any, Final

from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import Row

# The columns that are not text; a name has one type wherever it stands.
TYPES: Final = {
    **dict.fromkeys(
        (
            "feed_no", "entry_id", "same_as", "request_block", "response_block", "scheduled_at",
            "fetched_at", "content_length", "wire_length", "gone_seen_at", "last_published_at",
            "last_decision_at", "last_fetch_at", "last_success_at", "confirmations", "confirmed_at",
            "confirmation", "next_run_at", "first_seen", "seen_at", "published", "updated",
            "published_effective", "slice_offset", "slice_length", "replaced_at", "removed_at",
            "occurred_at", "offset", "length", "raw_length",
        ),
        "bigint",
    ),
    **dict.fromkeys(
        (
            "http_status", "elapsed_ms", "entries_seen", "entries_new", "entries_updated",
            "consecutive_failures", "last_status", "new_entries_last_fetch", "same_bodies",
            "revisions",
        ),
        "integer",
    ),
    **dict.fromkeys(("vary_any", "truncated", "in_document"), "smallint"),
    **dict.fromkeys(("interval_sec", "ewma_interarrival_sec"), "double precision"),
    **dict.fromkeys(("url_hash", "key_hash"), "bytea"),
}  # fmt: skip


def unnest_rows(names: Sequence[str], *, alias: str = "n", first: int = 1) -> str:
    """The FROM item that has these columns; its parameters are numbered from `first`."""
    types = [TYPES.get(name, "text") for name in names]
    arrays = ", ".join(f"${at}::{kind}[]" for at, kind in enumerate(types, start=first))
    return f"unnest({arrays}) AS {alias} ({', '.join(map(quoted, names))})"


def to_columns(rows: Sequence[Row]) -> list[Sequence[Any]]:
    """The rows, of which there is at least one, column by column."""
    return list(zip(*rows, strict=True))


async def write_rows(connection: PgConnection, statement: str, rows: Sequence[Row]) -> None:
    """One statement for all rows, and none for none."""
    if rows:
        await connection.execute(statement, *to_columns(rows))


def quoted(name: str) -> str:
    """The name where it could be taken for a word of the language."""
    return f'"{name}"' if name == "offset" else name
