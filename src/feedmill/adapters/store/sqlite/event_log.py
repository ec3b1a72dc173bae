"""The one log of events: numbers without gaps, given inside the write transaction (D29).

Two processes on one file take turns by BEGIN IMMEDIATE, so the last number that a transaction
reads is the last one there is, and a transaction that is rolled back leaves no hole.
"""
# Tested in tests/contracts/store/

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.sqlite.connection import is_bad_value
from feedmill.adapters.store.tables.codec import event_id, event_of, event_row
from feedmill.engine.ports.entries import NewestEvent
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
