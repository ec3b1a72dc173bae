"""Every sink that keeps lines, behind one face: a new one is one line in SINKS."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from feedmill.adapters.sinks import NdjsonSink, StdoutSink
from feedmill.engine.ports.entries import Sink
from feedmill.model.event import Event

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)


class Bench(Protocol):
    """A sink that can be opened again as after a restart, and what has arrived there."""

    def open(self) -> Sink: ...
    def lines(self) -> list[bytes]: ...


class Files:
    """NDJSON files under a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> Sink:
        return NdjsonSink(self.folder)

    def lines(self) -> list[bytes]:
        files = sorted((self.folder / "events").glob("*.ndjson"))
        return [line for path in files for line in path.read_bytes().split(b"\n")[:-1]]


class Output:
    """Standard output, led into a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "stdout"
        self.path.touch()

    def open(self) -> Sink:
        return StdoutSink(write=self._write)

    def _write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
            os.fsync(file.fileno())

    def lines(self) -> list[bytes]:
        return self.path.read_bytes().split(b"\n")[:-1]


SINKS: dict[str, Callable[[Path], Bench]] = {
    "ndjson": Files,
    "stdout": Output,
}


def event(seq: int, *, day: int = 0, **data: object) -> Event:
    """An event with its number."""
    return Event(
        seq=seq,
        id=f"event-{seq}",
        type="new_entry",
        feed_id="feed",
        occurred_at=NOON + timedelta(days=day, seconds=seq),
        entry_uid=f"uid-{seq}",
        data=dict(data),
    )


def events(first: int, last: int, *, day: int = 0) -> tuple[Event, ...]:
    """Events by their numbers, both included."""
    return tuple(event(seq, day=day) for seq in range(first, last + 1))
