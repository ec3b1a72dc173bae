"""What identity asks of the store: rows by their keys, the current document, known articles.

Each question is one statement, so that its answer is one state of the database: rows come with the
keys that they hold.
"""
# Tested in tests/contracts/store/

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import asyncpg

from feedmill.adapters.store.postgres.parameters import postgres_text, unnest_rows
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import blob_of, digest
from feedmill.adapters.store.tables.contents.entry_codec import (
    KNOWN_COLUMNS,
    TOMBSTONE_COLUMNS,
    WITHOUT_KEYS,
    dedupe_keys_of,
    known_of,
    legacy_known,
)
from feedmill.adapters.store.tables.contents.held_entries import (
    LIVE_SCREEN_STATE,
    live_screen_state_of,
)
from feedmill.adapters.store.tables.running.blobs import BLOB
from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.refresh import ExistingEntries, StoredDocument

_FEED: Final = "JOIN feeds f ON f.feed_no = e.feed_no"
# Always in the same order, so that the same row is the same value for every caller.
_KEYS: Final = """LEFT JOIN LATERAL (
  SELECT array_agg(i.key_type ORDER BY i.key_type, i.key_hash) AS types,
         array_agg(i.key_value ORDER BY i.key_type, i.key_hash) AS "values"
    FROM entry_identities i WHERE i.entry_id = e.entry_id) k ON true"""
_WITH_KEYS: Final = 'k.types, k."values"'
_BY_ID: Final = (
    f"SELECT {KNOWN_COLUMNS}, e.dedupe_key, {_WITH_KEYS} FROM ids JOIN entries e USING (entry_id) {_FEED} {_KEYS}"
    f" UNION ALL SELECT {TOMBSTONE_COLUMNS}, NULL, {_WITH_KEYS}"
    f" FROM ids JOIN tombstones e USING (entry_id) {_FEED} {_KEYS} ORDER BY 1"
)
_IDS_BY_KEY: Final = (
    f"SELECT i.entry_id FROM {unnest_rows(('key_type', 'key_hash', 'key_value'), alias='a')}"
    " JOIN entry_identities i ON i.key_hash = a.key_hash AND i.key_type = a.key_type"
    " AND i.key_value = a.key_value"
)
_IDS_BY_DEDUPE_KEY: Final = (
    f"SELECT e.entry_id FROM entries e WHERE e.dedupe_key = ANY($4::text[]) AND {WITHOUT_KEYS}"
)
_BY_KEY: Final = f"WITH ids AS ({_IDS_BY_KEY} UNION {_IDS_BY_DEDUPE_KEY}) {_BY_ID}"
_BY_KEY_OR_SLICE: Final = (
    f"WITH ids AS ({_IDS_BY_KEY} UNION {_IDS_BY_DEDUPE_KEY} UNION SELECT entry_id FROM entries"
    " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $5) AND slice_digest = ANY($6::text[])"
    f") {_BY_ID}"
)
_IN_DOCUMENT: Final = "WHERE f.id = $1 AND e.in_document = 1"
_DOCUMENT: Final = f"SELECT {KNOWN_COLUMNS} FROM entries e {_FEED} {_IN_DOCUMENT} ORDER BY 1"
_DOCUMENT_WITH_KEYS: Final = (
    f"SELECT {KNOWN_COLUMNS}, {_WITH_KEYS} FROM entries e {_FEED} {_KEYS} {_IN_DOCUMENT} ORDER BY 1"
)
_LIVING: Final = (
    f"SELECT {KNOWN_COLUMNS}, {_WITH_KEYS} FROM entries e {_FEED} {_KEYS}"
    " WHERE f.id = $1 AND e.removed_at IS NULL ORDER BY 1"
)
_NO_NAMES: Final[Mapping[tuple[str, str], str]] = {}


async def known(
    connection: PgConnection, feed_id: str, keys: Sequence[IdentityKey], digests: Sequence[str]
) -> tuple[KnownEntry, ...]:
    """Every row that holds one of the keys, expired ones included, or has a slice in this feed."""
    if not keys and not digests:
        return ()
    values = [postgres_text(key.value) for key in keys]
    legacy = [postgres_text(one) for one in dedupe_keys_of(keys)]
    asked = ([key.type for key in keys], list(map(digest, values)), values, legacy)
    if digests:
        rows = await connection.fetch(_BY_KEY_OR_SLICE, *asked, feed_id, digests)
    else:
        rows = await connection.fetch(_BY_KEY, *asked)
    names = _names(keys, values)
    found = [(_known_of((*row[:-3], *row[-2:]), names), row[-3]) for row in rows]
    if all(row.keys or dedupe_key is None for row, dedupe_key in found):
        return tuple([row for row, _ in found])
    taken = {key for row, _ in found for key in row.keys}
    more = (
        row if row.keys or dedupe_key is None else legacy_known(row, dedupe_key, taken)
        for row, dedupe_key in found
    )
    return tuple([row for row in more if row is not None])


async def current_document(
    connection: PgConnection, feed_id: str, *, with_keys: bool = True
) -> tuple[KnownEntry, ...]:
    """The rows of the feed's last document."""
    if with_keys:
        return _all_known(await connection.fetch(_DOCUMENT_WITH_KEYS, feed_id))
    return tuple([known_of(tuple(row), ()) for row in await connection.fetch(_DOCUMENT, feed_id)])


async def stored_document(
    connection: PgConnection, feed_id: str, body_sha256: str
) -> StoredDocument:
    """Where the body is kept, and the rows of the feed's last document."""
    row = await connection.fetchrow(BLOB, body_sha256)
    return StoredDocument(
        blob=None if row is None else blob_of(tuple(row)),
        rows=await current_document(connection, feed_id, with_keys=False),
    )


async def unremoved_entries(connection: PgConnection, feed_id: str) -> tuple[KnownEntry, ...]:
    """Every row of the feed that was not removed, wherever it stands."""
    return _all_known(await connection.fetch(_LIVING, feed_id))


async def articles(connection: PgConnection, hashes: Sequence[str]) -> frozenset[str]:
    """Those of the hashes that are known articles (D10)."""
    rows = await connection.fetch(
        "SELECT article_hash FROM articles WHERE article_hash = ANY($1::text[])", hashes
    )
    return frozenset(row[0] for row in rows)


async def load_existing(
    connection: PgConnection,
    feed_id: str,
    keys: Sequence[IdentityKey],
    article_hashes: Sequence[str],
) -> ExistingEntries:
    """The rows of the keys, the known articles and the live screens."""
    found = await connection.fetch(LIVE_SCREEN_STATE, feed_id)
    return ExistingEntries(
        known=await known(connection, feed_id, keys, ()),
        articles=await articles(connection, article_hashes) if article_hashes else frozenset(),
        screening=live_screen_state_of([tuple(row) for row in found]),
    )


def _names(keys: Sequence[IdentityKey], values: Sequence[str]) -> Mapping[tuple[str, str], str]:
    """What keys are called by who asks, where the database had to write them otherwise."""
    if all(map(str.__eq__, (key.value for key in keys), values)):
        return _NO_NAMES
    return {(key.type, value): key.value for key, value in zip(keys, values, strict=True)}


def _all_known(rows: Sequence[asyncpg.Record]) -> tuple[KnownEntry, ...]:
    return tuple([_known_of(row, _NO_NAMES) for row in rows])


def _known_of(row: Iterable[Any], names: Mapping[tuple[str, str], str]) -> KnownEntry:
    """The row with its keys, which are its last two columns."""
    *columns, types, values = row
    keys: Sequence[tuple[Any, str]] = tuple(zip(types or (), values or (), strict=True))
    if names:
        keys = [(kind, names.get((kind, value), value)) for kind, value in keys]
    return known_of(tuple(columns), keys)
