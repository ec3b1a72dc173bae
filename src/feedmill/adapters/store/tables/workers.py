"""Workers to rows and back, for both stores."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from feedmill.adapters.store.tables.codec import Row, instant, micros
from feedmill.model.worker import HeldLane, Worker, WorkerView

WORKER_COLUMNS: Final = "name, role, version, started_at, seen_at, draining"
LIVE: Final = timedelta(seconds=15)  # three missed signs of life
REMEMBERED: Final = timedelta(hours=1)  # so that people see who fell silent
CLAIMING: Final = ("run", "worker")  # the roles that hold lanes


def worker_row(worker: Worker) -> Row:
    """The WORKER_COLUMNS of a worker."""
    return (
        worker.name,
        worker.role,
        worker.version,
        micros(worker.started_at),
        micros(worker.seen_at),
        int(worker.draining),
    )


def views_of(workers: Iterable[Row], held: Iterable[Row]) -> tuple[WorkerView, ...]:
    """Everybody with their lanes, by name; lanes are (owner, key, until, epoch, feeds)."""
    known = {row[0]: _worker_of(row) for row in workers}
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


def _worker_of(row: Row) -> Worker:
    name, role, version, started_at, seen_at, draining = row
    return Worker(
        name=name,
        role=role,
        version=version,
        started_at=instant(started_at),
        seen_at=instant(seen_at),
        draining=bool(draining),
    )
