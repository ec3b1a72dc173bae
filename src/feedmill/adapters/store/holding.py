"""Rows of what is not an entry yet: collected documents, standing screens, held entries (001)."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from feedmill.adapters.store.rows import blob_row, instant, json_text, micros
from feedmill.engine.ports import Page, Standing
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.screening import Screening, TopicSet
from feedmill.model.standing import HeldEntry, StandingScreen

_topics: Final = msgspec.json.Decoder(TopicSet).decode
_screening: Final = msgspec.json.Decoder(Screening).decode

_KEEP: Final = (
    "INSERT INTO collected_documents"
    " (fetch_id, url, final_url, fetched_at, body_sha256, content_type) VALUES (?, ?, ?, ?, ?, ?)"
)
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = """
INSERT INTO held_entries (feed_no, entry_uid, dedupe_key, content_hash, held_at, fetch_id,
                          body_sha256, slice_offset, title, screening)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       dedupe_key = excluded.dedupe_key, content_hash = excluded.content_hash,
       fetch_id = excluded.fetch_id, body_sha256 = excluded.body_sha256,
       slice_offset = excluded.slice_offset,
       title = excluded.title, screening = coalesce(excluded.screening, screening)"""
_HELD: Final = """
SELECT h.held_no, f.id, h.entry_uid, h.dedupe_key, h.content_hash, h.held_at, h.fetch_id,
       h.body_sha256, h.slice_offset, h.title, h.screening
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > ?1 AND (?2 IS NULL OR f.id = ?2)
 ORDER BY h.held_no LIMIT ?3"""


def keep_collected(
    connection: sqlite3.Connection, document: CollectedDocument, blob: BlobRef
) -> None:
    """Index a document that a window was collected from."""
    connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?)", blob_row(blob))
    row = (
        document.fetch_id,
        document.url,
        document.final_url,
        micros(document.fetched_at),
        document.body_sha256,
        document.content_type,
    )
    connection.execute(_KEEP, row)


def add_screen(connection: sqlite3.Connection, screen: StandingScreen) -> None:
    """Keep a standing screen."""
    topics = None if screen.topics is None else json_text(screen.topics)
    created_at = micros(screen.created_at)
    whose = (screen.feed_id, screen.tag)
    row = (screen.id, created_at, *whose, screen.keep_at, screen.method, topics)
    connection.execute("INSERT INTO standing_screens VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def screens(connection: sqlite3.Connection) -> tuple[StandingScreen, ...]:
    """Every standing screen, the oldest first."""
    rows = connection.execute(
        "SELECT id, created_at, feed_id, tag, keep_at, method, topics FROM standing_screens"
        " ORDER BY created_at, id"
    )
    return tuple(
        StandingScreen(
            id=screen_id,
            created_at=instant(created_at),
            feed_id=feed_id,
            tag=tag,
            keep_at=keep_at,
            method=method,
            topics=None if topics is None else _topics(topics),
        )
        for screen_id, created_at, feed_id, tag, keep_at, method, topics in rows
    )


def remove_screen(connection: sqlite3.Connection, screen_id: str) -> bool:
    """Forget a standing screen; what it holds stays held."""
    done = connection.execute("DELETE FROM standing_screens WHERE id = ?", (screen_id,))
    return done.rowcount == 1


def hold(connection: sqlite3.Connection, feed_no: int, held: Sequence[HeldEntry]) -> None:
    """Keep entries back."""
    rows = [
        (
            feed_no,
            one.entry_uid,
            one.dedupe_key,
            one.content_hash,
            micros(one.held_at),
            one.fetch_id,
            one.body_sha256,
            one.slice_offset,
            one.title,
            None if one.screening is None else json_text(one.screening),
        )
        for one in held
    ]
    connection.executemany(_HOLD, rows)


def release(connection: sqlite3.Connection, feed_no: int, entry_uids: Sequence[str]) -> None:
    """Hold entries no longer: they are stored."""
    rows = [(feed_no, entry_uid) for entry_uid in entry_uids]
    connection.executemany("DELETE FROM held_entries WHERE feed_no = ? AND entry_uid = ?", rows)


def held(
    connection: sqlite3.Connection, feed_id: str | None, after: str | None, limit: int
) -> Page[HeldEntry]:
    """What waits for somebody's word, the oldest first."""
    since = int(after) if after is not None and after.isdecimal() else 0
    rows = connection.execute(_HELD, (since, feed_id, limit + 1)).fetchall()
    items = tuple(_held_of(row) for row in rows[:limit])
    return Page(items=items, next=str(rows[limit - 1][0]) if len(rows) > limit else None)


def standing(connection: sqlite3.Connection, feed_id: str) -> Standing:
    """Every screen, and what was ever held of a feed and not stored since."""
    rows = connection.execute(
        "SELECT entry_uid, content_hash FROM held_entries"
        " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = ?)",
        (feed_id,),
    )
    return Standing(screens=screens(connection), held=dict(rows.fetchall()))


def drop_held(connection: sqlite3.Connection, entry_uids: Sequence[str]) -> int:
    """Note that nobody wants these; how many of them were waiting."""
    statement = "UPDATE held_entries SET dropped = 1 WHERE entry_uid = ? AND dropped = 0"
    return connection.executemany(statement, [(uid,) for uid in entry_uids]).rowcount


def _held_of(row: tuple[Any, ...]) -> HeldEntry:
    _, feed_id, uid, dedupe_key, content_hash, held_at, fetch_id, body, offset, title, screening = (
        row
    )
    return HeldEntry(
        feed_id=feed_id,
        entry_uid=uid,
        dedupe_key=dedupe_key,
        content_hash=content_hash,
        held_at=instant(held_at),
        fetch_id=fetch_id,
        body_sha256=body,
        slice_offset=offset,
        title=title,
        screening=None if screening is None else _screening(screening),
    )
