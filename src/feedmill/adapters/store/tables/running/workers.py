"""Tables `workers`, `leases` and `consumer_cursors`: the processes that share a store, and how far each has come.

A worker that stops sending heartbeats loses its shards, not its lanes: those end with their lease."""
# Tested in tests/contracts/store/

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import Row, RowCodec, instant
from feedmill.model.event import Cursor
from feedmill.model.running.worker import POLLING_ROLES, HeldLane, Worker, WorkerView

_WORKER: Final = RowCodec(Worker, "name role version started_at seen_at draining", table="workers")
_LIVE: Final = timedelta(seconds=15)  # three missed heartbeats
_REMEMBERED: Final = timedelta(hours=1)  # so that people see which ones stopped
_KEEP: Final = (
    f"{sql.insert_into('workers', _WORKER.columns)} ON CONFLICT (name)"
    f" DO UPDATE SET {sql.excluded(_WORKER.columns[1:])}"
)
_HELD: Final = (
    "SELECT l.owner, l.lane_key, l.claim_at, l.epoch,"
    " (SELECT count(*) FROM feed_sched s WHERE s.lane_id = l.lane_id)"
    " FROM lanes l WHERE l.owner IS NOT NULL"
)


def save_worker(worker: Worker) -> Query[tuple[str, ...]]:
    """Store a heartbeat; the names of all live workers that claim lanes."""
    yield from sql.write(_KEEP, *_WORKER.row(worker))
    yield from sql.write(
        "DELETE FROM workers WHERE name IN"
        " (SELECT name FROM workers WHERE seen_at < $1 @lock(FOR UPDATE SKIP LOCKED))",
        worker.seen_at - _REMEMBERED,
    )
    live = yield from sql.column(
        "SELECT name FROM workers"
        " WHERE seen_at >= $1 AND draining = 0 AND role @in($2) ORDER BY name",
        worker.seen_at - _LIVE,
        list(POLLING_ROLES),
    )
    return tuple(live)


def delete_worker(name: str) -> Query[None]:
    """Delete a worker that has stopped."""
    yield from sql.write("DELETE FROM workers WHERE name = $1", name)


def workers() -> Query[tuple[WorkerView, ...]]:
    """All workers by name, with the lanes that they hold."""
    found = yield from sql.rows(f"SELECT {_WORKER.names()} FROM workers")
    return _views_of(found, (yield from sql.rows(_HELD)))


def take_lease(name: str, owner: str, *, now: datetime, until: datetime) -> Query[bool]:
    """Take a free or expired lease, or extend one's own; False when another owner has it."""
    return sql.write_one(
        "INSERT INTO leases (name, owner, until) VALUES ($1, $2, $3)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
        " WHERE leases.owner = excluded.owner OR leases.until <= $4",
        name,
        owner,
        until,
        now,
    )


def release_lease(name: str, owner: str) -> Query[None]:
    """Give a lease back; nothing happens when another owner has it."""
    yield from sql.write("DELETE FROM leases WHERE name = $1 AND owner = $2", name, owner)


def cursor(consumer: str) -> Query[int]:
    """The last sequence number that a consumer has read, 0 before it started."""
    found = yield from sql.value("SELECT seq FROM consumer_cursors WHERE consumer = $1", consumer)
    return int(found or 0)


def cursors() -> Query[tuple[Cursor, ...]]:
    """Every consumer with its position, and the oldest event that it has not read."""
    found = yield from sql.rows(
        "SELECT c.consumer, c.seq, (SELECT e.occurred_at FROM @numbered_events AS e"
        " WHERE e.seq > c.seq ORDER BY e.seq LIMIT 1) FROM consumer_cursors c ORDER BY c.consumer"
    )
    last = yield from sql.value("SELECT @last_seq")
    return tuple(
        Cursor(
            consumer=consumer,
            seq=seq,
            behind=max(0, int(last or 0) - seq),
            unread_since=None if at is None else instant(at),
        )
        for consumer, seq, at in found
    )


def drop_cursor(consumer: str) -> Query[bool]:
    """Delete the position of a consumer; False when it has none."""
    return (yield from sql.write("DELETE FROM consumer_cursors WHERE consumer = $1", consumer)) == 1


def set_cursor(consumer: str, seq: int) -> Query[None]:
    """Store how far a consumer has read; going back is allowed, to replay."""
    yield from sql.write(
        "INSERT INTO consumer_cursors (consumer, seq) VALUES ($1, $2)"
        " ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq",
        consumer,
        seq,
    )


def _views_of(workers: Iterable[Row], held: Iterable[Row]) -> tuple[WorkerView, ...]:
    """Workers with their lanes, by name; lanes are (owner, key, until, epoch, feeds)."""
    known = {row[0]: _WORKER.value(row) for row in workers}
    lanes: dict[str, list[HeldLane]] = {}
    for owner, key, until, epoch, feeds in held:
        lane = HeldLane(key=key, until=instant(until), epoch=epoch, feeds=feeds)
        lanes.setdefault(owner, []).append(lane)
    return tuple(
        WorkerView(
            name=name,
            worker=known.get(name),
            lanes=tuple(sorted(lanes.get(name, ()), key=lambda lane: lane.key)),
        )
        for name in sorted({*known, *lanes})
    )
