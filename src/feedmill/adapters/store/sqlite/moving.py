"""Changes of address as rows: the move, the way back, and what is known of a candidate (D6)."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.sqlite import event_log
from feedmill.adapters.store.sqlite.claims import hasten
from feedmill.adapters.store.sqlite.subscriptions import relocate
from feedmill.adapters.store.tables.codec import json_text, micros, micros_or_none
from feedmill.adapters.store.tables.moves import MOVE_COLUMNS, SOON, move_of, move_row
from feedmill.model.event import NewEvent
from feedmill.model.feed import Move, MoveCandidate

# Validators vouch for what one address serves; those of the new one are kept (a redirect led there).
_ARRIVE: Final = (
    "UPDATE feeds SET move = NULL,"
    " etag = iif(validators_url = ?1, etag, NULL),"
    " last_modified = iif(validators_url = ?1, last_modified, NULL),"
    " vary = iif(validators_url = ?1, vary, NULL),"
    " validators_url = iif(validators_url = ?1, validators_url, NULL) WHERE feed_no = ?2"
)


def moves(connection: sqlite3.Connection, feed_id: str) -> tuple[Move, ...]:
    """Every change of address of the feed, the oldest first."""
    rows = connection.execute(
        f"SELECT {MOVE_COLUMNS} FROM feed_moves WHERE feed_no ="  # noqa: S608  # the list beside
        " (SELECT feed_no FROM feeds WHERE id = ?) ORDER BY move_id",
        (feed_id,),
    )
    return tuple(move_of(row) for row in rows)


def move_feed(
    connection: sqlite3.Connection,
    feed_id: str,
    move: Move,
    events: Sequence[NewEvent],
    gap_ms: int,
) -> bool:
    """Let the feed live at `move.to_url`; False when it is not where the move begins, or when the
    address belongs to another feed: then nothing is written.
    """
    feed_no = _resident(connection, feed_id, move.from_url)
    if feed_no is None or not _settle(connection, feed_no, move.to_url, gap_ms):
        return False
    connection.execute(
        f"INSERT INTO feed_moves (feed_no, {MOVE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (feed_no, *move_row(move)),
    )
    _wake(connection, feed_no, move.moved_at)
    event_log.append(connection, events, f"feed/{feed_id}/moved/{micros(move.moved_at)}")
    return True


def undo_move(
    connection: sqlite3.Connection,
    feed_id: str,
    move: Move,
    events: Sequence[NewEvent],
    gap_ms: int,
) -> bool:
    """Let the feed live at `move.from_url` again; `move.undone_at` says since when.

    False when it does not live at `move.to_url` any more.
    """
    feed_no = _resident(connection, feed_id, move.to_url)
    at = move.undone_at
    if feed_no is None or at is None or not _settle(connection, feed_no, move.from_url, gap_ms):
        return False
    connection.execute(
        "UPDATE feed_moves SET undone_at = ?"
        " WHERE feed_no = ? AND from_url = ? AND to_url = ? AND moved_at = ?",
        (micros(at), feed_no, move.from_url, move.to_url, micros(move.moved_at)),
    )
    _wake(connection, feed_no, at)
    event_log.append(connection, events, f"feed/{feed_id}/unmoved/{micros(at)}")
    return True


def note_candidate(
    connection: sqlite3.Connection,
    feed_id: str,
    candidate: MoveCandidate | None,
    https_probed_at: datetime | None,
    events: Sequence[NewEvent],
) -> None:
    """Write what is known of where the feed may have moved to; nothing else of the feed changes."""
    connection.execute(
        "UPDATE feeds SET move = ?, https_probed_at = ? WHERE id = ?",
        (
            None if candidate is None else json_text(candidate),
            micros_or_none(https_probed_at),
            feed_id,
        ),
    )
    if events:
        at = micros(events[0].occurred_at)
        event_log.append(connection, events, f"feed/{feed_id}/candidate/{at}")


def _resident(connection: sqlite3.Connection, feed_id: str, url: str) -> int | None:
    """The feed's short number, when it lives there."""
    row = connection.execute(
        "SELECT feed_no FROM feeds WHERE id = ? AND url = ?", (feed_id, url)
    ).fetchone()
    return None if row is None else int(row[0])


def _settle(connection: sqlite3.Connection, feed_no: int, url: str, gap_ms: int) -> bool:
    relocate(connection, feed_no, url, gap_ms)
    (now_at,) = connection.execute("SELECT url FROM feeds WHERE feed_no = ?", (feed_no,)).fetchone()
    if now_at != url:
        return False
    connection.execute(_ARRIVE, (url, feed_no))
    return True


def _wake(connection: sqlite3.Connection, feed_no: int, now: datetime) -> None:
    """A feed that failed where it was is asked at its new address soon; it owes nothing there."""
    row = connection.execute(
        "UPDATE feed_sched SET next_run_at = min(next_run_at, ?) WHERE feed_no = ? AND EXISTS"
        " (SELECT 1 FROM feeds f WHERE f.feed_no = feed_sched.feed_no AND f.health <> 'active')"
        " RETURNING lane_id, next_run_at, paused",
        (micros(now + SOON), feed_no),
    ).fetchone()
    if row is not None and not row[2]:
        hasten(connection, row[0], row[1])
