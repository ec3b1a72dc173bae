"""Rows of what is not an entry yet: collected documents, standing screens, held entries (001)."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

import sqlite3
from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.tables.codec import blob_row
from feedmill.adapters.store.tables.held_entries import (
    COLLECTED_COLUMNS,
    HELD_COLUMNS,
    NEW_HELD_COLUMNS,
    SCREEN_COLUMNS,
    collected_row,
    held_of,
    held_row,
    screen_of,
    screen_row,
)
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.live_screen import HeldEntry, Standing, StandingScreen
from feedmill.model.page import Page

_KEEP: Final = f"INSERT INTO collected_documents ({COLLECTED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
INSERT INTO held_entries ({NEW_HELD_COLUMNS})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       dedupe_key = excluded.dedupe_key, content_hash = excluded.content_hash,
       fetch_id = excluded.fetch_id, body_sha256 = excluded.body_sha256,
       slice_offset = excluded.slice_offset,
       title = excluded.title, screening = coalesce(excluded.screening, screening)"""
_HELD: Final = f"""
SELECT h.held_no, {HELD_COLUMNS}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > ?1 AND (?2 IS NULL OR f.id = ?2)
 ORDER BY h.held_no LIMIT ?3"""


def keep_collected(
    connection: sqlite3.Connection, document: CollectedDocument, blob: BlobRef
) -> None:
    """Index a document that a window was collected from."""
    connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?)", blob_row(blob))
    connection.execute(_KEEP, collected_row(document))


def add_screen(connection: sqlite3.Connection, screen: StandingScreen) -> None:
    """Keep a standing screen."""
    row = screen_row(screen)
    connection.execute("INSERT INTO standing_screens VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def screens(connection: sqlite3.Connection) -> tuple[StandingScreen, ...]:
    """Every standing screen, the oldest first."""
    rows = connection.execute(
        f"SELECT {SCREEN_COLUMNS} FROM standing_screens ORDER BY created_at, id"
    )
    return tuple(screen_of(row) for row in rows)


def remove_screen(connection: sqlite3.Connection, screen_id: str) -> bool:
    """Forget a standing screen; what it holds stays held."""
    done = connection.execute("DELETE FROM standing_screens WHERE id = ?", (screen_id,))
    return done.rowcount == 1


def hold(connection: sqlite3.Connection, feed_no: int, held: Sequence[HeldEntry]) -> None:
    """Keep entries back."""
    connection.executemany(_HOLD, [held_row(feed_no, one) for one in held])


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
    items = tuple(held_of(row[1:]) for row in rows[:limit])
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
