"""What a consumer did and how far it is, on disk: killed at any moment, it goes on from there.

What was done is written before the cursor moves, as a program does that must not lose anything; so
a kill in between does the same again, and the numbers in the file show it. Nothing of feedmill is
imported here: a consumer is another program.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Journal:
    """`<name>.log` with a line per event, and `<name>.cursor` with the last number that was done."""

    def __init__(self, folder: Path, name: str) -> None:
        log, place = folder / f"{name}.log", folder / f"{name}.cursor"
        _cut_half_a_line(log)
        # Open until the process ends: one call for each write, which a kill lets through or not.
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._place = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        self.cursor = int(os.pread(self._place, 20, 0) or b"0")

    def take(self, events: Iterable[dict[str, Any]], cursor: int | None = None) -> None:
        """Do the work of these events, then remember the place after them."""
        done = list(events)
        os.write(self._log, b"".join(f"{one['seq']} {one['id']}\n".encode() for one in done))
        self.cursor = max([cursor or 0, self.cursor, *(one["seq"] for one in done)])
        os.pwrite(self._place, b"%020d" % self.cursor, 0)

    def close(self) -> None:
        """Let the files go; a process that is killed need not."""
        os.close(self._log)
        os.close(self._place)


def done_by(folder: Path, name: str) -> list[tuple[int, str]]:
    """Number and id of everything that a consumer did, in order, with repetitions."""
    path = folder / f"{name}.log"
    data = path.read_bytes() if path.exists() else b""
    lines = data[: data.rfind(b"\n") + 1].decode("ascii").splitlines()
    return [(int(seq), name) for seq, _, name in (line.partition(" ") for line in lines)]


def cursor_of(folder: Path, name: str) -> int:
    """The number that a consumer has come to, 0 before it began."""
    path = folder / f"{name}.cursor"
    return int(path.read_bytes() or b"0") if path.exists() else 0


def _cut_half_a_line(log: Path) -> None:
    if log.exists():
        os.truncate(log, log.read_bytes().rfind(b"\n") + 1)
