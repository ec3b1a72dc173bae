"""Parameters as PostgreSQL takes them: texts without NUL, and many rows for one statement.

Feeds contain NUL and half characters: JSON lets a guid be "\\u0000", and half of a surrogate pair is a
Python string that no encoding has. Each becomes U+FFFD at the edge where values become rows, so that the
rest of the document is kept. In JSON the escape of NUL is text like any other, but no `jsonb` accepts it.
Of many rows each column is an array, and `unnest` makes them rows again.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import Row, json_text

T = TypeVar("T")

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_HAS_NUL: Final = b"\\u0000"  # or a backslash and these letters, which costs a needless look
_encode: Final = msgspec.json.Encoder().encode


# The columns that are not text; a name has one type wherever it stands.
TYPES: Final = {
    **dict.fromkeys(
        (
            "feed_no", "entry_id", "same_as", "request_block", "response_block", "scheduled_at",
            "fetched_at", "content_length", "wire_length", "gone_seen_at", "last_published_at",
            "last_decision_at", "last_fetch_at", "last_success_at", "confirmations", "confirmed_at",
            "confirmation", "next_run_at", "first_seen", "seen_at", "published", "updated",
            "published_effective", "slice_offset", "slice_length", "replaced_at", "removed_at",
            "occurred_at", "offset", "length", "raw_length", "document_bytes", "saved_bytes",
            "bytes_in", "bytes_decoded", "bytes_saved", "start", "writer",
        ),
        "bigint",
    ),
    **dict.fromkeys(
        (
            "http_status", "elapsed_ms", "entries_seen", "entries_new", "entries_updated",
            "consecutive_failures", "last_status", "new_entries_last_fetch", "same_bodies",
            "revisions", "day", "polls", "unchanged", "same_body", "failed_ours", "failed_theirs",
            "failed_host", "elapsed_ms_max", "late", "retries", "status", "span_sec", "month",
        ),
        "integer",
    ),
    **dict.fromkeys(("vary_any", "truncated", "in_document", "backfill"), "smallint"),
    **dict.fromkeys(
        ("interval_sec", "ewma_interarrival_sec", "ewma_sec", "lag", "lag_max"), "double precision"
    ),
    **dict.fromkeys(("url_hash", "key_hash"), "bytea"),
}  # fmt: skip


def postgres_text(text: str) -> str:
    """The text, with U+FFFD for what PostgreSQL cannot hold."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def postgres_json(value: object) -> str:
    """The value as JSON that PostgreSQL can read."""
    encoded = _bytes_of(value)
    return (
        json_text(clean_value(value))
        if encoded is None or _HAS_NUL in encoded
        else encoded.decode()
    )


def clean_and_size(value: T) -> tuple[T, int]:
    """The value with every text in it storable, and how many bytes there are to it.

    One pass of the encoder finds both; only what needs it is made anew.
    """
    encoded = _bytes_of(value)
    if encoded is None or _HAS_NUL in encoded:
        value = clean_value(value)
        encoded = _encode(value)
    return value, len(encoded)


def clean_value(value: T) -> T:
    """The value with every text in it storable, however deep."""
    return _cleansed(value)  # type: ignore[no-any-return]  # the same type comes out


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


def _bytes_of(value: object) -> bytes | None:
    """The value as JSON; None when there is a character that JSON has no bytes for."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return None


def _cleansed(value: Any) -> Any:  # noqa: ANN401  # whatever a value is made of
    match value:
        case str():
            return postgres_text(value)
        case tuple() | list():
            return type(value)(map(_cleansed, value))
        case dict():
            return {_cleansed(name): _cleansed(one) for name, one in value.items()}
        case msgspec.Struct():
            fields = asdict(value)
            changed = {name: _cleansed(one) for name, one in fields.items()}
            return value if changed == fields else replace(value, **changed)
        case _:
            return value
