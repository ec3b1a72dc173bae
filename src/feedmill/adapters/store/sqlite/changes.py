"""What a document changed, as rows: entries, identities, articles, revisions, removals.

Almost every entry of a document is known and unchanged, and no row of it is written: the feed
counts how often its current document was confirmed, and an entry in it was seen as often and as
lately as that. Only what enters, leaves or changes is written (D31).
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from feedmill.adapters.store.tables.codec import json_text, micros_or_none
from feedmill.adapters.store.tables.entry_codec import CONTENT_COLUMNS, content_row
from feedmill.model.identity import (
    Added,
    Changes,
    Identified,
    IdentityKey,
    Rekeyed,
    Removed,
    Revised,
    UnchangedEntry,
)

_CONTENT: Final = ", ".join(CONTENT_COLUMNS)
_CONTENT_MARKS: Final = ", ".join("?" * len(CONTENT_COLUMNS))
_INSERT: Final = (
    "INSERT INTO entries (entry_uid, feed_no, first_seen, last_seen, seen_count, in_document,"
    f" confirmation, same_as, {_CONTENT}) VALUES (?, ?, ?, ?, 1, ?, ?, ?, {_CONTENT_MARKS})"
    " ON CONFLICT (entry_uid) DO NOTHING"
)
_REVIVE: Final = (
    "INSERT INTO entries (entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count,"
    f" revisions, {_CONTENT}) SELECT entry_id, entry_uid, feed_no, first_seen, last_seen,"
    f" seen_count, revisions, {_CONTENT_MARKS} FROM tombstones WHERE entry_id = ?"
)
_REWRITE: Final = (
    f"UPDATE entries SET {', '.join(f'{name} = ?' for name in CONTENT_COLUMNS)},"
    " revisions = revisions + ?, removed_at = NULL, removed_reason = NULL, removed_comment = NULL"
    " WHERE entry_id = ?"
)
_KEEP_REVISION: Final = (
    "INSERT INTO entry_revisions SELECT entry_id, revisions + 1, ?, ?, content_hash, title,"
    " summary, content, canonical_link, published, updated, fetch_id"
    " FROM entries WHERE entry_id = ?"
)
_ENTER: Final = (
    "UPDATE entries SET in_document = 1, confirmation = ?, seen_count = seen_count + 1,"
    " last_seen = max(last_seen, ?) WHERE entry_id = ?"
)
_LEAVE: Final = (
    "UPDATE entries SET in_document = 0, seen_count = seen_count + ? - confirmation,"
    " last_seen = max(last_seen, ?) WHERE entry_id = ? AND in_document = 1"
)
_SEEN_AGAIN: Final = (
    "UPDATE entries SET seen_count = seen_count + 1, last_seen = max(last_seen, ?)"
    " WHERE entry_id = ?"
)


class PendingDocument(msgspec.Struct, kw_only=True):
    """The document being written, and what happened to the feed's rows so far."""

    feed_no: int
    fetch_id: str
    seen_at: int
    whole: bool  # it is the feed's current document from now on
    before: int  # confirmations of the document that was current until now
    before_at: int  # and the last of them
    known: set[int] = msgspec.field(default_factory=set)  # rows that stand in it and were there
    keys: list[tuple[str, str, int]] = msgspec.field(default_factory=list)
    articles: list[tuple[str, str, int, str | None, int]] = msgspec.field(default_factory=list)
    overtaken: set[str] = msgspec.field(default_factory=set)  # added by another refresh meanwhile

    @property
    def confirmation(self) -> int:
        """The number of this confirmation."""
        return self.before + 1 if self.whole else self.before


def write_changes(
    connection: sqlite3.Connection,
    document: PendingDocument,
    changes: Changes,
    removed: Sequence[Removed],
) -> Collection[str]:
    """Write everything; the ids of added entries that another refresh was quicker to add."""
    current = _current(connection, document.feed_no) if document.whole else set()
    for change in changes.changes:
        match change:
            case Added():
                _add(connection, document, change)
            case Revised():
                _revise(connection, document, change)
            case UnchangedEntry():
                _touch(connection, document, change)
            case Rekeyed():
                document.keys += [(r.new.type, r.new.value, r.entry_id) for r in change.remaps]
            case _:  # a repeat and a conflict change no row
                pass
    _register(connection, document)
    _mark_seen(connection, document, current)
    _remove(connection, document, removed)
    return document.overtaken


def _current(connection: sqlite3.Connection, feed_no: int) -> set[int]:
    rows = connection.execute(
        "SELECT entry_id FROM entries WHERE feed_no = ? AND in_document = 1", (feed_no,)
    )
    return {entry_id for (entry_id,) in rows}


def _add(connection: sqlite3.Connection, document: PendingDocument, change: Added) -> None:
    row = (
        change.entry_uid,
        document.feed_no,
        document.seen_at,
        document.seen_at,
        int(document.whole),
        document.confirmation,
        change.same_as,
        *content_row(change.seen, document.fetch_id, document.seen_at),
    )
    done = connection.execute(_INSERT, row)
    if done.rowcount == 1:
        entry_id = done.lastrowid or 0
        _note_article(document, change.seen, entry_id)
    else:
        entry_id = _entry_id(connection, change.entry_uid)
        document.overtaken.add(change.entry_uid)
        document.known.add(entry_id)
    _note_keys(document, change.new_keys, entry_id)


def _revise(connection: sqlite3.Connection, document: PendingDocument, change: Revised) -> None:
    entry_id = change.known.entry_id
    if change.changed and change.known.content_hash is not None:
        kept = (document.seen_at, json_text(change.changed), entry_id)
        connection.execute(_KEEP_REVISION, kept)
    _rewrite(connection, document, change.seen, entry_id, revisions=int(bool(change.changed)))
    _note_keys(document, change.new_keys, entry_id)
    document.known.add(entry_id)


def _touch(
    connection: sqlite3.Connection, document: PendingDocument, change: UnchangedEntry
) -> None:
    known, seen, piece = change.known, change.seen, change.slice
    if change.refresh and seen is not None:
        _rewrite(connection, document, seen, known.entry_id, revisions=0)
    else:
        if piece is not None and piece.digest != known.slice_digest:
            connection.execute(
                "UPDATE entries SET fetch_id = ?, slice_offset = ?, slice_length = ?,"
                " slice_digest = ? WHERE entry_id = ?",
                (document.fetch_id, piece.offset, piece.length, piece.digest, known.entry_id),
            )
        if seen is not None and seen.guid is not None and seen.guid != known.guid:
            connection.execute(
                "UPDATE entries SET guid = ? WHERE entry_id = ?", (seen.guid, known.entry_id)
            )
    _note_keys(document, change.new_keys, known.entry_id)
    document.known.add(known.entry_id)


def _rewrite(
    connection: sqlite3.Connection,
    document: PendingDocument,
    seen: Identified,
    entry_id: int,
    *,
    revisions: int,
) -> None:
    row = content_row(seen, document.fetch_id, document.seen_at)
    if connection.execute(_REWRITE, (*row, revisions, entry_id)).rowcount == 0:
        connection.execute(_REVIVE, (*row, entry_id))
        connection.execute("DELETE FROM tombstones WHERE entry_id = ?", (entry_id,))
    # An undated entry stays where it was first seen; the reader knows only when it read it.
    connection.execute(
        "UPDATE entries SET published_effective = first_seen"
        " WHERE entry_id = ? AND published_source = 'first_seen'",
        (entry_id,),
    )
    _note_article(document, seen, entry_id)


def _note_keys(document: PendingDocument, keys: Sequence[IdentityKey], entry_id: int) -> None:
    document.keys += [(key.type, key.value, entry_id) for key in keys]


def _note_article(document: PendingDocument, seen: Identified, entry_id: int) -> None:
    digest = seen.article_hash
    if digest is not None:
        link = seen.entry.article_link
        row = (digest, seen.article_version, entry_id, link, document.seen_at)
        document.articles.append(row)


def _register(connection: sqlite3.Connection, document: PendingDocument) -> None:
    """A key and an article belong to the entry that had them first, for ever (D8)."""
    connection.executemany("INSERT OR IGNORE INTO entry_identities VALUES (?, ?, ?)", document.keys)
    connection.executemany(
        "INSERT OR IGNORE INTO articles VALUES (?, ?, ?, ?, ?)", document.articles
    )


def _mark_seen(
    connection: sqlite3.Connection, document: PendingDocument, current: set[int]
) -> None:
    if not document.whole:
        rows = [(document.seen_at, entry_id) for entry_id in document.known]
        connection.executemany(_SEEN_AGAIN, rows)
        return
    if document.known != current:
        entered, left = document.known - current, current - document.known
        connection.executemany(
            _ENTER, [(document.confirmation, document.seen_at, entry_id) for entry_id in entered]
        )
        _leave(connection, document, left)


def _leave(
    connection: sqlite3.Connection, document: PendingDocument, entry_ids: Collection[int]
) -> None:
    """From now on these rows count for themselves."""
    rows = [(document.before, document.before_at, entry_id) for entry_id in entry_ids]
    connection.executemany(_LEAVE, rows)


def _remove(
    connection: sqlite3.Connection, document: PendingDocument, removed: Sequence[Removed]
) -> None:
    if not removed:
        return
    _leave(connection, document, [one.known.entry_id for one in removed])
    connection.executemany(
        "UPDATE entries SET removed_at = ?, removed_reason = ?, removed_comment = ?"
        " WHERE entry_id = ? AND removed_at IS NULL",
        [
            (
                micros_or_none(one.when) or document.seen_at,
                one.reason,
                one.comment,
                one.known.entry_id,
            )
            for one in removed
        ],
    )


def _entry_id(connection: sqlite3.Connection, entry_uid: str) -> int:
    row = connection.execute("SELECT entry_id FROM entries WHERE entry_uid = ?", (entry_uid,))
    return int(row.fetchone()[0])
