"""What a document changed, as rows: entries, identities, articles, revisions, removals.

Almost every entry of a document is known and unchanged, and no row of it is written: the feed
counts how often its current document was confirmed, and an entry in it was seen as often and as
lately as that. Only what enters, leaves or changes is written (D31).
"""
# Tested in tests/contracts/store/

import sqlite3
from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.sqlite.key_hash import ADD_KEY
from feedmill.adapters.store.tables.changes import (
    ChangeBatch,
    PendingDocument,
    Sightings,
    group_changes,
    removed_rows,
)
from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.tables.contents.entry_codec import CONTENT_COLUMNS, POINT_TO_FIRST
from feedmill.adapters.store.tables.contents.entry_search import ON_CONFLICT
from feedmill.model.identity import digests_text

_CONTENT: Final = ", ".join(CONTENT_COLUMNS)
_INSERT: Final = (
    "INSERT INTO entries (entry_uid, feed_no, first_seen, last_seen, seen_count, in_document,"
    f" confirmation, same_as, backfill, {_CONTENT}) VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6, ?7,"
    f" {', '.join(f'?{at}' for at, _ in enumerate(CONTENT_COLUMNS, start=8))})"
    " ON CONFLICT (entry_uid) DO NOTHING"
)
_KEEP_REVISION: Final = (
    "INSERT INTO entry_revisions SELECT entry_id, revisions + 1, ?2, ?3, content_hash, title,"
    " summary, content, canonical_link, published, updated, fetch_id, slice_offset, slice_length"
    " FROM entries WHERE entry_id = ?1"
)
# The number of a revision counts on; the entry's own count is that of the last one.
_THIN: Final = (
    "DELETE FROM entry_revisions WHERE entry_id = ?1 AND number <="
    " (SELECT revisions FROM entries WHERE entry_id = ?1) - ?2"
)
_REWRITE: Final = (
    f"UPDATE entries SET {', '.join(f'{c} = ?{at}' for at, c in enumerate(CONTENT_COLUMNS, start=3))},"
    " revisions = revisions + ?2, removed_at = NULL, removed_reason = NULL, removed_comment = NULL"
    " WHERE entry_id = ?1"
)
_REVIVE: Final = (
    "INSERT INTO entries (entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count,"
    f" revisions, {_CONTENT}) SELECT entry_id, entry_uid, feed_no, first_seen, last_seen,"
    f" seen_count, revisions, {', '.join('?' * len(CONTENT_COLUMNS))}"
    " FROM tombstones WHERE entry_id = ?"
)
_PLACE: Final = (
    "UPDATE entries SET fetch_id = ?2, slice_offset = ?3, slice_length = ?4, slice_digest = ?5"
    " WHERE entry_id = ?1"
)
_RENAME: Final = "UPDATE entries SET guid = ?2 WHERE entry_id = ?1"
_ENTER: Final = (
    "UPDATE entries SET in_document = 1, confirmation = ?2, seen_count = seen_count + 1,"
    " last_seen = max(last_seen, ?3) WHERE entry_id = ?1"
)
_SEEN_AGAIN: Final = (
    "UPDATE entries SET seen_count = seen_count + 1, last_seen = max(last_seen, ?2)"
    " WHERE entry_id = ?1"
)
_LEAVE: Final = (
    "UPDATE entries SET in_document = 0, seen_count = seen_count + ?2 - confirmation,"
    " last_seen = max(last_seen, ?3) WHERE entry_id = ?1 AND in_document = 1"
)
_REMOVE: Final = (
    "UPDATE entries SET removed_at = ?2, removed_reason = ?3, removed_comment = ?4"
    " WHERE entry_id = ?1 AND removed_at IS NULL"
)
_POINT_TO_FIRST: Final = f"{POINT_TO_FIRST} WHERE entry_id = ?"
_SEARCHABLE: Final = f"INSERT INTO entry_search (entry_id, terms) VALUES (?, ?) {ON_CONFLICT}"
_ARTICLE: Final = "INSERT OR IGNORE INTO articles VALUES (?, ?, ?, ?, ?)"


def write_changes(
    connection: sqlite3.Connection, document: PendingDocument, *, searchable: bool
) -> None:
    """Write everything; the document learns which of its entries another refresh was quicker to add."""
    current = _current(connection, document.feed_no) if document.whole else set()
    changes = ChangeBatch(digests_text=digests_text)
    group_changes(changes, document)
    _add(connection, changes)
    _run_each(connection, _KEEP_REVISION, changes.revised)
    for row in changes.rewritten:
        _rewrite(connection, row)
    _run_each(connection, _THIN, changes.thinned)
    _run_each(connection, _PLACE, changes.placed)
    _run_each(connection, _RENAME, changes.renamed)
    _register(connection, changes)
    _index(connection, changes, searchable=searchable)
    sightings = Sightings()
    sightings.add(document, current)
    _run_each(connection, _ENTER, sightings.entered)
    _run_each(connection, _SEEN_AGAIN, sightings.again)
    _run_each(connection, _LEAVE, sightings.left)
    _run_each(connection, _REMOVE, removed_rows(document))


def _run_each(connection: sqlite3.Connection, statement: str, rows: Sequence[Row]) -> None:
    """Run a statement for each of the rows; most documents have none for most statements."""
    if rows:
        connection.executemany(statement, rows)


def _current(connection: sqlite3.Connection, feed_no: int) -> set[int]:
    rows = connection.execute(
        "SELECT entry_id FROM entries WHERE feed_no = ? AND in_document = 1", (feed_no,)
    )
    return {entry_id for (entry_id,) in rows}


def _add(connection: sqlite3.Connection, changes: ChangeBatch) -> None:
    """Insert the new entries in document order; what was there is known from now on."""
    late: list[str] = []
    for row in changes.added_rows():
        done = connection.execute(_INSERT, row)
        if done.rowcount == 1:
            changes.ids[row[0]] = done.lastrowid or 0
        else:
            late.append(row[0])
            changes.ids[row[0]] = _entry_id(connection, row[0])
    if late:
        changes.recognise(late)


def _entry_id(connection: sqlite3.Connection, entry_uid: str) -> int:
    row = connection.execute("SELECT entry_id FROM entries WHERE entry_uid = ?", (entry_uid,))
    return int(row.fetchone()[0])


def _rewrite(connection: sqlite3.Connection, row: Row) -> None:
    """Write a content anew; a row that retention took comes back with what it left."""
    entry_id, _, *content = row
    if connection.execute(_REWRITE, row).rowcount == 0:
        connection.execute(_REVIVE, (*content, entry_id))
        connection.execute("DELETE FROM tombstones WHERE entry_id = ?", (entry_id,))
    # An undated entry stays where it was first seen; the reader knows only when it read it.
    connection.execute(
        "UPDATE entries SET published_effective = first_seen"
        " WHERE entry_id = ? AND published_source = 'first_seen'",
        (entry_id,),
    )


def _index(connection: sqlite3.Connection, changes: ChangeBatch, *, searchable: bool) -> None:
    """Index what is new; where search is off, no entry is left with the tokens of an earlier text."""
    if searchable:
        if changes.articles:
            connection.executemany(_SEARCHABLE, changes.search_rows())
    elif changes.rewritten:
        connection.executemany(
            "DELETE FROM entry_search WHERE entry_id = ?", [row[:1] for row in changes.rewritten]
        )


def _register(connection: sqlite3.Connection, changes: ChangeBatch) -> None:
    """A key and an article belong to the entry that had them first, for ever (D8)."""
    _run_each(connection, ADD_KEY, changes.key_rows())
    refused = [
        row[2] for row in changes.article_rows() if connection.execute(_ARTICLE, row).rowcount == 0
    ]
    _run_each(connection, _POINT_TO_FIRST, [(one,) for one in changes.duplicates(refused)])
