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
        self._log, self._place = folder / f"{name}.log", folder / f"{name}.cursor"
        self._cut_half_a_line()
        self.cursor = int(self._place.read_text("ascii")) if self._place.exists() else 0

    def take(self, events: Iterable[dict[str, Any]], cursor: int | None = None) -> None:
        """Do the work of these events, then remember the place after them."""
        done = list(events)
        with self._log.open("ab", buffering=0) as log:
            log.write(b"".join(f"{one['seq']} {one['id']}\n".encode() for one in done))
        self.move(max([cursor or 0, self.cursor, *(one["seq"] for one in done)]))

    def move(self, cursor: int) -> None:
        """Remember a place; whoever dies here finds the old one or the new one."""
        if cursor != self.cursor:
            draft = self._place.with_suffix(".draft")
            draft.write_text(str(cursor), "ascii")
            draft.replace(self._place)
            self.cursor = cursor

    def _cut_half_a_line(self) -> None:
        if self._log.exists():
            data = self._log.read_bytes()
            os.truncate(self._log, data.rfind(b"\n") + 1)


def done_by(folder: Path, name: str) -> list[tuple[int, str]]:
    """Number and id of everything that a consumer did, in order, with repetitions."""
    path = folder / f"{name}.log"
    data = path.read_bytes() if path.exists() else b""
    lines = data[: data.rfind(b"\n") + 1].decode("ascii").splitlines()
    return [(int(seq), name) for seq, _, name in (line.partition(" ") for line in lines)]
