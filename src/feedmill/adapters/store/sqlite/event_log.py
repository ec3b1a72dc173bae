"""The one log of events: numbers without gaps, given inside the write transaction (D29), durable before anybody reads them (D37).

Two processes on one file take turns by BEGIN IMMEDIATE, so the last number that a transaction
reads is the last one there is, and a transaction that is rolled back leaves no hole.

With `synchronous = normal` SQLite writes a commit into the write-ahead log (-wal) and leaves it to the
operating system when that reaches the disk. So a reader of events has the -wal synced first, unless a
sync after the commit of the newest of them has been made: one sync for all that was committed since the last
one, and none while nothing new is read. What a checkpoint has taken out of the -wal, SQLite has synced itself.
"""
# Tested in tests/contracts/store/

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from typing import Final

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.sqlite.connection import connect, is_bad_value, translated
from feedmill.adapters.store.tables.codec import event_id, event_of, event_row
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import StoreError
from feedmill.model.event import Event, NewEvent
from feedmill.publish.events import REWOUND_LEAP, event_of_rewound_log, is_rewound_untold

_AFTER: Final = "FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?"
_AS_BYTES: Final = "seq, " + ", ".join(
    f"CAST({name} AS BLOB)" if name != "occurred_at" else name
    for name in ("id", "type", "feed_id", "entry_uid", "occurred_at", "data")
)


def append_events(connection: sqlite3.Connection, events: Sequence[NewEvent], cause: str) -> int:
    """Write the events; the last number there is.

    `cause` names what happened once (a fetch, an addition): the ids derive from it, so that an
    event keeps its id wherever the log is copied to.
    """
    last = last_seq(connection)
    rows = [
        event_row(last + at, event_id(cause, at), event) for at, event in enumerate(events, start=1)
    ]
    connection.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return last + len(rows)


def append_rewound(connection: sqlite3.Connection, delivered: NewestEvent, now: datetime) -> bool:
    """Append `log.rewound` with a leap in the numbers, unless the log has the event or has said so."""
    last = last_seq(connection)
    there = connection.execute("SELECT id FROM outbox WHERE seq = ?", (delivered.seq,)).fetchone()
    (said,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM outbox WHERE type = 'log.rewound'"
    ).fetchone()
    if not is_rewound_untold(
        delivered.seq, delivered.id, id_there=there and there[0], last=last, rewound_at=said
    ):
        return False
    seq = max(last, delivered.seq) + REWOUND_LEAP
    event = event_of_rewound_log(delivered.seq, last, now=now)
    row = event_row(seq, event_id(f"rewound/{delivered.seq}/{last}", 1), event)
    connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return True


def events(connection: sqlite3.Connection, *, after: int, limit: int = 1000) -> tuple[Event, ...]:
    """Events after a number, in order."""
    try:
        return tuple(map(event_of, connection.execute(f"SELECT * {_AFTER}", (after, limit))))
    except sqlite3.Error as error:
        if not is_bad_value(error):
            raise
    rows = connection.execute(f"SELECT {_AS_BYTES} {_AFTER}", (after, limit))
    return tuple(event_of(tuple(map(_text_of, row))) for row in rows)


def _text_of(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def last_seq(connection: sqlite3.Connection) -> int:
    """The number of the newest event, 0 before the first."""
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM outbox").fetchone()
    return int(last)


class WalSync:
    """How far the log of one SQLite file is known to be on the disk."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seq = 0
        self._has_failed = False

    def covers(self, seq: int) -> bool:
        """True when the event with this number is durable."""
        return seq <= self._seq

    def cover(self, seq: int) -> None:
        """Return once the event, which was read from the file, is durable."""
        with self._lock:
            if self.covers(seq):
                return
            reach("log-sync")
            if self._has_failed:
                self._checkpoint()
            else:
                self._sync()
            self._seq = seq

    def _sync(self) -> None:
        try:
            # Closing a descriptor takes SQLite's locks away from a process, but it has none on this file.
            descriptor = os.open(f"{self._path}-wal", os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            self._has_failed = True
            message = (
                f"{self._path}: the event log could not be synced to the disk; check it ({problem})"
            )
            raise StoreError(message, reason="io-error") from problem

    def _checkpoint(self) -> None:
        """Write the log into the database itself.

        After a failed sync the operating system may hold for written what never reached the disk, and the
        next sync would succeed (https://lwn.net/Articles/752063/).
        """

        def checkpoint() -> tuple[int, int, int]:
            with closing(connect(self._path)) as connection:
                found: tuple[int, int, int] = connection.execute(
                    "PRAGMA wal_checkpoint(PASSIVE)"
                ).fetchone()
                return found

        busy, frames, written = translated(self._path, checkpoint)
        if busy or written < frames:
            message = (
                f"{self._path}: a sync failed, and a reader holds up the checkpoint; trying again"
            )
            raise StoreError(message, reason="io-error")
        self._has_failed = False
