"""Who works on the store: signs of life as rows, for people; nothing relies on them."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

import sqlite3
from datetime import datetime
from typing import Final

from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.workers import REMEMBERED, WORKER_COLUMNS, views_of, worker_row
from feedmill.model.worker import Worker, WorkerView

_HELD: Final = (
    "SELECT owner, lane_key, claim_at, epoch,"
    " (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id)"
    " FROM lanes l WHERE owner IS NOT NULL"
)


def note(connection: sqlite3.Connection, worker: Worker) -> None:
    """Write a sign of life, and forget who has been silent for long."""
    connection.execute(
        f"INSERT OR REPLACE INTO workers ({WORKER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        worker_row(worker),
    )
    silent_since = micros(worker.seen_at - REMEMBERED)
    connection.execute("DELETE FROM workers WHERE seen_at < ?", (silent_since,))


def forget(connection: sqlite3.Connection, name: str) -> None:
    """Note that a worker has left."""
    connection.execute("DELETE FROM workers WHERE name = ?", (name,))


def workers(connection: sqlite3.Connection) -> tuple[WorkerView, ...]:
    """Everybody at work, with the lanes that they hold."""
    known = connection.execute(f"SELECT {WORKER_COLUMNS} FROM workers").fetchall()
    return views_of(known, connection.execute(_HELD).fetchall())


def due_lanes(connection: sqlite3.Connection, now: datetime) -> int:
    """How many lanes could be claimed now."""
    (count,) = connection.execute(
        "SELECT count(*) FROM lanes WHERE claim_at <= ?", (micros(now),)
    ).fetchone()
    return int(count)
