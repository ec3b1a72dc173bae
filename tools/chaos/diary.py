"""What was done to whom and when, written down by the one who did it."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from tools.chaos.judge import Fault


class Moment(NamedTuple):
    """Now, by both clocks."""

    seconds: float
    wall_us: int

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.monotonic(), time.time_ns() // 1000)


class Diary:
    """A line per fault: kind, who, when it began and ended, and how long others had the processors."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(
        self,
        kind: str,
        who: str,
        began: Moment,
        ended: Moment | None = None,
        *,
        waited: float = 0.0,
    ) -> float:
        """Write it down; how long it took, in seconds."""
        end = ended or Moment.now()
        words = (kind, who, began.seconds, began.wall_us, end.seconds, end.wall_us, waited)
        os.write(self._file, f"{' '.join(map(str, words))}\n".encode())
        return end.seconds - began.seconds


def faults_of(path: Path) -> list[Fault]:
    """The faults in a diary."""
    lines = [line.split() for line in path.read_text("ascii").splitlines()]
    return [
        Fault(kind, who, float(began), int(began_at), float(ended), int(ended_at), float(waited))
        for kind, who, began, began_at, ended, ended_at, waited in lines
    ]
