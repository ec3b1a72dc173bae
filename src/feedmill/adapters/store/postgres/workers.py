"""Who works on the store: signs of life as rows, for people and for sharing the shards.

A worker that fell silent loses its shards, not its lanes: those end with their lease.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.workers import (
    CLAIMING,
    LIVE,
    REMEMBERED,
    WORKER_COLUMNS,
    views_of,
    worker_row,
)
from feedmill.model.worker import Worker, WorkerView

_NOTE: Final = (
    f"INSERT INTO workers ({WORKER_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (name) DO UPDATE SET role = excluded.role, version = excluded.version,"
    " started_at = excluded.started_at, seen_at = excluded.seen_at, draining = excluded.draining"
)
_FORGET_SILENT: Final = (
    "DELETE FROM workers WHERE name IN"
    " (SELECT name FROM workers WHERE seen_at < $1 FOR UPDATE SKIP LOCKED)"
)
_LIVE: Final = (
    "SELECT name FROM workers"
    " WHERE seen_at >= $1 AND draining = 0 AND role = ANY($2::text[]) ORDER BY name"
)
_HELD: Final = (
    "SELECT l.owner, l.lane_key, l.claim_at, l.epoch,"
    " (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id)"
    " FROM lanes l WHERE l.owner IS NOT NULL"
)


async def note(connection: Connection, worker: Worker) -> tuple[str, ...]:
    """Write a sign of life; the names of all who claim lanes and were heard of lately."""
    await connection.execute(_NOTE, *worker_row(worker))
    await connection.execute(_FORGET_SILENT, micros(worker.seen_at - REMEMBERED))
    rows = await connection.fetch(_LIVE, micros(worker.seen_at - LIVE), CLAIMING)
    return tuple(row["name"] for row in rows)


async def forget(connection: Connection, name: str) -> None:
    """Note that a worker has left."""
    await connection.execute("DELETE FROM workers WHERE name = $1", name)


async def workers(connection: Connection) -> tuple[WorkerView, ...]:
    """Everybody at work, with the lanes that they hold."""
    known = await connection.fetch(f"SELECT {WORKER_COLUMNS} FROM workers")
    held = await connection.fetch(_HELD)
    return views_of(map(tuple, known), map(tuple, held))
