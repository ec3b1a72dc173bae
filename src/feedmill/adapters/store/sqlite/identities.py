"""What identity asks of the store: rows by their keys, the current document, known articles."""
# Tested in tests/contracts/store/

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from feedmill.adapters.store.sqlite.connection import PARAMETERS, key_hash
from feedmill.adapters.store.sqlite.run_query import translate
from feedmill.adapters.store.tables.codec import blob_of
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

_IN_DOCUMENT: Final = (
    " FROM entries e JOIN feeds f ON f.feed_no = e.feed_no WHERE f.id = ? AND e.in_document = 1"
)
_LIVING: Final = (
    " FROM entries e JOIN feeds f ON f.feed_no = e.feed_no WHERE f.id = ? AND e.removed_at IS NULL"
)
_BLOB: Final = translate(BLOB)
_LIVE_SCREEN_STATE: Final = translate(LIVE_SCREEN_STATE)
_KEYS_AT_ONCE: Final = PARAMETERS // 3  # each takes three parameters


def known(
    connection: sqlite3.Connection,
    feed_id: str,
    keys: Sequence[IdentityKey],
    digests: Sequence[str],
) -> tuple[KnownEntry, ...]:
    """Every row that holds one of the keys, expired ones included, or has a slice in this feed."""
    ids = set(_ids_by_digest(connection, feed_id, digests))
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        ids.update(_ids_by_key(connection, keys[at : at + _KEYS_AT_ONCE]))
    found = _rows(connection, sorted(ids))
    legacy = _ids_by_dedupe_key(connection, keys)
    if not legacy:
        return found
    taken = {key for row in found for key in row.keys}
    more = (
        legacy_known(row, legacy[row.entry_id], taken) for row in _rows(connection, sorted(legacy))
    )
    return (*found, *(row for row in more if row is not None))


def current_document(
    connection: sqlite3.Connection, feed_id: str, *, with_keys: bool = True
) -> tuple[KnownEntry, ...]:
    """The rows of the feed's last document."""
    return _rows_of_feed(connection, feed_id, _IN_DOCUMENT, with_keys=with_keys)


def stored_document(
    connection: sqlite3.Connection, feed_id: str, body_sha256: str
) -> StoredDocument:
    """Where the body is kept, and the rows of the feed's last document, in one look."""
    row = connection.execute(_BLOB, (body_sha256,)).fetchone()
    return StoredDocument(
        blob=None if row is None else blob_of(row),
        rows=current_document(connection, feed_id, with_keys=False),
    )


def unremoved_entries(connection: sqlite3.Connection, feed_id: str) -> tuple[KnownEntry, ...]:
    """Every row of the feed that was not removed, wherever it stands."""
    return _rows_of_feed(connection, feed_id, _LIVING)


def articles(connection: sqlite3.Connection, hashes: Sequence[str]) -> frozenset[str]:
    """Those of the hashes that are known articles (D10)."""
    found: set[str] = set()
    for chunk in _chunks(hashes):
        marks = ", ".join("?" * len(chunk))
        statement = f"SELECT article_hash FROM articles WHERE article_hash IN ({marks})"
        found.update(row[0] for row in connection.execute(statement, chunk))
    return frozenset(found)


def load_existing(
    connection: sqlite3.Connection,
    feed_id: str,
    keys: Sequence[IdentityKey],
    article_hashes: Sequence[str],
) -> ExistingEntries:
    """The rows of the keys, the known articles and the live screens, in one look."""
    found = connection.execute(_LIVE_SCREEN_STATE, (feed_id,)).fetchall()
    return ExistingEntries(
        known=known(connection, feed_id, keys, ()),
        articles=articles(connection, article_hashes),
        screening=live_screen_state_of(found),
    )


def _rows_of_feed(
    connection: sqlite3.Connection, feed_id: str, chosen: str, *, with_keys: bool = True
) -> tuple[KnownEntry, ...]:
    rows = connection.execute(f"SELECT {KNOWN_COLUMNS}{chosen}", (feed_id,)).fetchall()
    if not with_keys:
        return tuple([known_of(row, ()) for row in rows])
    keys: dict[int, list[tuple[str, str]]] = {row[0]: [] for row in rows}
    _gather(
        keys,
        connection.execute(
            "SELECT entry_id, key_type, key_value FROM entry_identities"
            f" WHERE entry_id IN (SELECT e.entry_id{chosen})",
            (feed_id,),
        ).fetchall(),
    )
    return tuple(known_of(row, keys[row[0]]) for row in rows)


def _ids_by_key(connection: sqlite3.Connection, keys: Sequence[IdentityKey]) -> set[int]:
    marks = ", ".join(["(?, ?, ?)"] * len(keys))
    asked = [part for k in keys for part in (_hash_of(k), k.type, k.value)]
    rows = connection.execute(
        f"WITH asked (h, t, v) AS (VALUES {marks})"
        " SELECT i.entry_id FROM asked JOIN entry_identities i"
        " ON i.lookup_hash = asked.h AND i.key_type = asked.t AND i.key_value = asked.v",
        asked,
    )
    return {entry_id for (entry_id,) in rows}


def _hash_of(key: IdentityKey) -> int:
    return key_hash(f"{key.type}:{key.value}".encode("utf-8", "surrogatepass"))


def _ids_by_dedupe_key(
    connection: sqlite3.Connection, keys: Sequence[IdentityKey]
) -> dict[int, str]:
    """Entries without keys that have one of these as their `dedupe_key`."""
    found: dict[int, str] = {}
    for chunk in _chunks(dedupe_keys_of(keys)):
        marks = ", ".join("?" * len(chunk))
        found.update(
            connection.execute(
                f"SELECT e.entry_id, e.dedupe_key FROM entries e WHERE e.dedupe_key IN ({marks})"
                f" AND {WITHOUT_KEYS}",
                chunk,
            )
        )
    return found


def _ids_by_digest(
    connection: sqlite3.Connection, feed_id: str, digests: Sequence[str]
) -> set[int]:
    found: set[int] = set()
    for chunk in _chunks(digests):
        marks = ", ".join("?" * len(chunk))
        rows = connection.execute(
            "SELECT entry_id FROM entries"
            f" WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = ?) AND slice_digest IN ({marks})",
            (feed_id, *chunk),
        )
        found.update(entry_id for (entry_id,) in rows)
    return found


def _rows(connection: sqlite3.Connection, ids: Sequence[int]) -> tuple[KnownEntry, ...]:
    rows: list[tuple[Any, ...]] = []
    keys: dict[int, list[tuple[str, str]]] = {entry_id: [] for entry_id in ids}
    for at in range(0, len(ids), PARAMETERS):
        chunk = ids[at : at + PARAMETERS]
        among = f"IN ({', '.join('?' * len(chunk))})"
        for columns, table in ((KNOWN_COLUMNS, "entries"), (TOMBSTONE_COLUMNS, "tombstones")):
            rows += connection.execute(
                f"SELECT {columns} FROM {table} e JOIN feeds f ON f.feed_no = e.feed_no"
                f" WHERE e.entry_id {among}",
                chunk,
            ).fetchall()
        statement = "SELECT entry_id, key_type, key_value FROM entry_identities WHERE entry_id "
        _gather(keys, connection.execute(statement + among, chunk).fetchall())
    return tuple(known_of(row, keys[row[0]]) for row in rows)


def _gather(keys: dict[int, list[tuple[str, str]]], rows: Sequence[tuple[int, str, str]]) -> None:
    for entry_id, kind, value in rows:
        keys[entry_id].append((kind, value))


def _chunks(values: Sequence[str]) -> Iterable[Sequence[str]]:
    """The values in pieces that one statement takes."""
    return (values[at : at + PARAMETERS] for at in range(0, len(values), PARAMETERS))
