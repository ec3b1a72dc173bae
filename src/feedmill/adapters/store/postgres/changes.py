"""What documents changed, as rows: entries, identities, articles, revisions, removals.

Almost every entry of a document is known and unchanged, and no row of it is written: the feed
counts how often its current document was confirmed, and an entry in it was seen as often and as
lately as that. Only what enters, leaves or changes is written (D31), for all documents of a
transaction at once: one statement per kind of change, and none for a kind that does not occur.

Keys and articles are shared by all feeds, so they are written in the order of their hashes: two
transactions that want the same ones wait for each other and never in a circle.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.postgres.parameters import to_columns, unnest_rows, write_rows
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.changes import (
    ChangeBatch,
    PendingDocument,
    Sightings,
    document_batches,
    group_changes,
    removed_rows,
)
from feedmill.adapters.store.tables.codec import digest
from feedmill.adapters.store.tables.contents.entry_codec import CONTENT_COLUMNS, POINT_TO_FIRST
from feedmill.adapters.store.tables.contents.entry_search import ON_CONFLICT

_CONTENT: Final = ", ".join(CONTENT_COLUMNS)
_NEW_COLUMNS: Final = (
    "entry_uid", "feed_no", "first_seen", "in_document", "confirmation", "same_as", "backfill",
    *CONTENT_COLUMNS,
)  # fmt: skip
_INSERT: Final = (
    "INSERT INTO entries (entry_uid, feed_no, first_seen, last_seen, seen_count, in_document,"
    f" confirmation, same_as, backfill, {_CONTENT}) SELECT entry_uid, feed_no, first_seen, first_seen, 1,"
    f" in_document, confirmation, same_as, backfill, {_CONTENT} FROM {unnest_rows(_NEW_COLUMNS)}"
    " ON CONFLICT (entry_uid) DO NOTHING RETURNING entry_uid, entry_id"
)
_REWRITTEN: Final = ("entry_id", "revisions", *CONTENT_COLUMNS)


def _rewritten(name: str, row: str = "e") -> str:
    """A new value; an undated entry stays where it was first seen: the reader knows only when it
    read it."""
    if name != "published_effective":
        return f"n.{name}"
    return f"CASE n.published_source WHEN 'first_seen' THEN {row}.first_seen ELSE n.{name} END"


_REWRITE: Final = (
    f"UPDATE entries e SET {', '.join(f'{c} = {_rewritten(c)}' for c in CONTENT_COLUMNS)},"
    " revisions = e.revisions + n.revisions,"
    " removed_at = NULL, removed_reason = NULL, removed_comment = NULL"
    f" FROM {unnest_rows(_REWRITTEN)} WHERE e.entry_id = n.entry_id RETURNING e.entry_id"
)
_REVIVE: Final = (
    "INSERT INTO entries (entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count,"
    f" revisions, {_CONTENT}) SELECT t.entry_id, t.entry_uid, t.feed_no, t.first_seen,"
    f" t.last_seen, t.seen_count, t.revisions, {', '.join(_rewritten(c, 't') for c in CONTENT_COLUMNS)}"
    f" FROM {unnest_rows(_REWRITTEN)} JOIN tombstones t ON t.entry_id = n.entry_id"
)
# Locked as it is read: with legacy_guid_across_feeds, two feeds may revise one entry at once.
_KEEP_REVISIONS: Final = (
    "INSERT INTO entry_revisions SELECT e.entry_id, e.revisions + 1, n.replaced_at, n.changed,"
    " e.content_hash, e.title, e.summary, e.content, e.canonical_link, e.published, e.updated,"
    " e.fetch_id, e.slice_offset, e.slice_length FROM (SELECT * FROM entries WHERE entry_id = ANY($1::bigint[])"
    f" ORDER BY entry_id FOR NO KEY UPDATE) e JOIN {unnest_rows(('entry_id', 'replaced_at', 'changed'))}"
    " ON n.entry_id = e.entry_id"
)
_THIN: Final = (
    f"DELETE FROM entry_revisions r USING {unnest_rows(('entry_id', 'revisions'))}, entries e"
    " WHERE r.entry_id = n.entry_id AND e.entry_id = n.entry_id"
    " AND r.number <= e.revisions - n.revisions"
)
_PLACED: Final = ("entry_id", "fetch_id", "slice_offset", "slice_length", "slice_digest")
_PLACE: Final = (
    "UPDATE entries e SET fetch_id = n.fetch_id, slice_offset = n.slice_offset,"
    " slice_length = n.slice_length, slice_digest = n.slice_digest"
    f" FROM {unnest_rows(_PLACED)} WHERE e.entry_id = n.entry_id"
)
_RENAME: Final = (
    f"UPDATE entries e SET guid = n.guid FROM {unnest_rows(('entry_id', 'guid'))}"
    " WHERE e.entry_id = n.entry_id"
)
_KEY_COLUMNS: Final = ("key_hash", "key_type", "key_value", "entry_id")
_KEEP_KEYS: Final = (
    f"INSERT INTO entry_identities ({', '.join(_KEY_COLUMNS)}) SELECT * FROM"
    f" {unnest_rows(_KEY_COLUMNS)} ON CONFLICT DO NOTHING"
)
_ARTICLE_COLUMNS: Final = ("article_hash", "article_version", "entry_id", "link", "first_seen")
_KEEP_ARTICLES: Final = (
    f"INSERT INTO articles ({', '.join(_ARTICLE_COLUMNS)}) SELECT * FROM"
    f" {unnest_rows(_ARTICLE_COLUMNS)} ON CONFLICT DO NOTHING RETURNING entry_id"
)
_SEARCHABLE: Final = (
    f"INSERT INTO entry_search (entry_id, terms) SELECT * FROM {unnest_rows(('entry_id', 'terms'))}"
    f" {ON_CONFLICT}"
)
_CURRENT: Final = (
    "SELECT feed_no, array_agg(entry_id) FROM entries"
    " WHERE feed_no = ANY($1::bigint[]) AND in_document = 1 GROUP BY feed_no"
)
_SIGHTING: Final = ("entry_id", "confirmation", "seen_at")
_ENTER: Final = (
    "UPDATE entries e SET in_document = 1, confirmation = n.confirmation,"
    " seen_count = e.seen_count + 1, last_seen = greatest(e.last_seen, n.seen_at)"
    f" FROM {unnest_rows(_SIGHTING)} WHERE e.entry_id = n.entry_id"
)
_LEAVE: Final = (
    "UPDATE entries e SET in_document = 0,"
    " seen_count = e.seen_count + n.confirmation - e.confirmation,"
    " last_seen = greatest(e.last_seen, n.seen_at)"
    f" FROM {unnest_rows(_SIGHTING)} WHERE e.entry_id = n.entry_id AND e.in_document = 1"
)
_SEEN_AGAIN: Final = (
    "UPDATE entries e SET seen_count = e.seen_count + 1,"
    f" last_seen = greatest(e.last_seen, n.seen_at) FROM {unnest_rows(('entry_id', 'seen_at'))}"
    " WHERE e.entry_id = n.entry_id"
)
_REMOVED: Final = ("entry_id", "removed_at", "removed_reason", "removed_comment")
_REMOVE: Final = (
    "UPDATE entries e SET removed_at = n.removed_at, removed_reason = n.removed_reason,"
    f" removed_comment = n.removed_comment FROM {unnest_rows(_REMOVED)}"
    " WHERE e.entry_id = n.entry_id AND e.removed_at IS NULL"
)


async def write_changes(
    connection: PgConnection, documents: Sequence[PendingDocument], *, searchable: bool
) -> None:
    """Write everything; each document learns which of its entries another refresh was quicker to
    add. The feeds of the documents are locked by who calls."""
    for batch in document_batches(documents):
        await _write_batch(connection, batch, searchable=searchable)


async def _write_batch(
    connection: PgConnection, documents: Sequence[PendingDocument], *, searchable: bool
) -> None:
    current = await _current(connection, documents)
    changes = ChangeBatch()
    for document in documents:
        group_changes(changes, document)
    await _add(connection, changes)
    await write_rows(connection, _KEEP_REVISIONS, changes.revised)
    await _rewrite(connection, changes)
    await write_rows(connection, _THIN, changes.thinned)
    await write_rows(connection, _PLACE, changes.placed)
    await write_rows(connection, _RENAME, changes.renamed)
    await _register(connection, changes)
    await _index(connection, changes, searchable=searchable)
    await _mark_seen(connection, documents, current)
    await _remove(connection, documents)


async def _current(
    connection: PgConnection, documents: Sequence[PendingDocument]
) -> dict[int, frozenset[int]]:
    """The rows of the documents that are current until now."""
    feeds = [document.feed_no for document in documents if document.whole]
    rows = await connection.fetch(_CURRENT, feeds) if feeds else ()
    return {feed_no: frozenset(entry_ids) for feed_no, entry_ids in rows}


async def _add(connection: PgConnection, changes: ChangeBatch) -> None:
    """Insert the new entries in document order; what was there is known from now on."""
    if not changes.added:
        return
    made = await connection.fetch(_INSERT, *to_columns(changes.added_rows()))
    changes.ids.update((row[0], row[1]) for row in made)
    late = [uid for uid in changes.added if uid not in changes.ids]
    if late:
        rows = await connection.fetch(
            "SELECT entry_uid, entry_id FROM entries WHERE entry_uid = ANY($1::text[])", late
        )
        changes.ids.update((row[0], row[1]) for row in rows)
        changes.recognise(late)


async def _rewrite(connection: PgConnection, changes: ChangeBatch) -> None:
    """Write contents anew; a row that retention took comes back with what it left."""
    if not changes.rewritten:
        return
    done = {row[0] for row in await connection.fetch(_REWRITE, *to_columns(changes.rewritten))}
    expired = [row for row in changes.rewritten if row[0] not in done]
    if expired:
        await connection.execute(_REVIVE, *to_columns(expired))
        ids = [row[0] for row in expired]
        await connection.execute("DELETE FROM tombstones WHERE entry_id = ANY($1::bigint[])", ids)


async def _register(connection: PgConnection, changes: ChangeBatch) -> None:
    """A key and an article belong to the entry that had them first, for ever (D8)."""
    keys = [(digest(value), kind, value, entry_id) for kind, value, entry_id in changes.key_rows()]
    articles = sorted(changes.article_rows(), key=lambda row: str(row[0]))
    await write_rows(connection, _KEEP_KEYS, sorted(keys, key=lambda row: row[:2]))
    kept = await connection.fetch(_KEEP_ARTICLES, *to_columns(articles)) if articles else ()
    refused = {row[2] for row in articles} - {row[0] for row in kept}
    if later := changes.duplicates(refused):
        await connection.execute(f"{POINT_TO_FIRST} WHERE entry_id = ANY($1::bigint[])", later)


async def _index(connection: PgConnection, changes: ChangeBatch, *, searchable: bool) -> None:
    """Index what is new; where search is off, no entry is left with the tokens of an earlier text."""
    if searchable:
        await write_rows(connection, _SEARCHABLE, changes.search_rows())
    elif changes.rewritten:
        ids = [row[0] for row in changes.rewritten]
        await connection.execute("DELETE FROM entry_search WHERE entry_id = ANY($1::bigint[])", ids)


async def _mark_seen(
    connection: PgConnection,
    documents: Sequence[PendingDocument],
    current: dict[int, frozenset[int]],
) -> None:
    sightings = Sightings()
    for document in documents:
        sightings.add(document, current.get(document.feed_no, frozenset()))
    await write_rows(connection, _ENTER, sorted(sightings.entered))
    await write_rows(connection, _SEEN_AGAIN, sorted(sightings.again))
    await write_rows(connection, _LEAVE, sorted(sightings.left))


async def _remove(connection: PgConnection, documents: Sequence[PendingDocument]) -> None:
    rows = [row for document in documents for row in removed_rows(document)]
    await write_rows(connection, _REMOVE, rows)
