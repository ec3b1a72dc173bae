"""File taps (002 §9.3): events as NDJSON, one file per day, each event on exactly one line.

The log delivers at least once. A tap that reopens its newest file looks at the last line, cuts a
line that a crash left half written, and skips what it has; so the files have each event once.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from feedmill.model.event import Event
from feedmill.publish.lines import event_line, seq_of_line

_TAIL_BYTES = 65_536


class NdjsonTap:
    """Appends to <folder>/entries/2025-10-14.ndjson."""

    def __init__(self, folder: Path, name: str = "ndjson") -> None:
        self.name = name
        self._folder = folder / "entries"
        self._last_seq: int | None = None

    async def deliver(self, events: Sequence[Event]) -> None:
        """Append the events that the files do not have yet."""
        await asyncio.to_thread(self._append, events)

    async def close(self) -> None:
        """Nothing is held open between deliveries."""

    def _append(self, events: Sequence[Event]) -> None:
        if self._last_seq is None:
            self._last_seq = self._newest_seq()
        by_day: dict[str, list[bytes]] = {}
        last = self._last_seq
        for event in events:
            if event.seq > last:
                by_day.setdefault(f"{event.occurred_at:%Y-%m-%d}", []).append(event_line(event))
                last = event.seq
        self._folder.mkdir(parents=True, exist_ok=True)
        for day, lines in by_day.items():
            with (self._folder / f"{day}.ndjson").open("ab") as file:
                file.write(b"".join(lines))
        self._last_seq = last

    def _newest_seq(self) -> int:
        """The highest number in the files; half a last line is cut off first."""
        newest = 0
        for path in sorted(self._folder.glob("*.ndjson"))[-3:]:
            _cut_half_line(path)
            newest = max(newest, seq_of_line(_last_line(path)))
        return newest


def _cut_half_line(path: Path) -> None:
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        start = max(0, size - _TAIL_BYTES)
        file.seek(start)
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            file.truncate(start + tail.rfind(b"\n") + 1)


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().splitlines()
    return lines[-1] if lines else b""
