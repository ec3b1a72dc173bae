"""Failpoints: named places at which a test kills the process or makes the disk fail.

    FEEDMILL_FAILPOINT=store-commit@3           SIGKILL at the third passage
    FEEDMILL_FAILPOINT=blob-write=eio@2-4       OSError(EIO) at the second, third and fourth

The variable is read once, at import: without it `reach` is an empty function. Only adapters have
such places, because only they touch what can be lost.
"""

import errno
import os
import re
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Final

VARIABLE: Final = "FEEDMILL_FAILPOINT"
POINTS: Final = (
    "blob-write",  # before a group of bodies is written
    "blob-written",  # written, not yet synced
    "blob-synced",  # durable, not acknowledged
    "segment-created",  # a new segment without a byte
    "segment-seal",  # full, not yet renamed
    "segment-sealed",  # renamed, the folder not yet synced
    "store-begin",  # before BEGIN
    "store-begun",  # the lock is held, nothing written
    "store-commit",  # everything written, not committed
    "store-committed",  # committed, not acknowledged
    "log-sync",  # events were read, and are synced before a reader gets them
    "tap-append",  # before events are appended
    "tap-appended",  # all of them are, the cursor does not know
    "bus-send",  # before events are handed to a bus
    "bus-sent",  # all are on their way, no answer was read
    "bus-taken",  # all are acknowledged, the cursor does not know
    "cursor-move",  # before the cursor is asked to move
    "cursor-moved",  # it has moved
)
# Of jobs that run outside the engine.
JOB_POINTS: Final = (
    "transfer-begun",  # a move into a store was noted, no row has come
    "transfer-copy",  # before a batch of rows is written
    "transfer-copied",  # written, not committed
    "transfer-kept",  # committed, not acknowledged
    "transfer-compared",  # everything is over there and was compared, the store does not know
    "transfer-switched",  # the raw store belongs to the new store, which does not know that all is there
)
# Of maintenance: migrations, purges, moves and merges.
WRITE_POINTS: Final = (
    "migrate-step",  # SQLite: a migration was applied, not committed
    "migrate-stepped",  # committed, the next one has not begun
    "pg-write",  # a transaction of PostgreSQL that is no poll: everything written, not committed
    "pg-written",  # committed, not acknowledged
)
# Of downloads, which only feeds that opted in have.
MEDIA_POINTS: Final = (
    "media-write",  # a piece of a download is written
    "media-synced",  # the whole file is durable under its partial name
    "media-kept",  # it has its place, the store does not know
)
_ERRORS: Final = {"eio": errno.EIO, "enospc": errno.ENOSPC}
_SPELLING: Final = re.compile(r"([a-z-]+)(?:=(kill|eio|enospc))?(?:@(\d+)(?:-(\d+))?)?")


class Failpoint:
    """One armed place: counts its passages and acts at the chosen ones."""

    def __init__(self, spelling: str) -> None:
        match = _SPELLING.fullmatch(spelling)
        if match is None or match[1] not in (*POINTS, *JOB_POINTS, *WRITE_POINTS, *MEDIA_POINTS):
            message = f"{VARIABLE}={spelling} names no failpoint; they are: {', '.join(POINTS)}"
            raise SystemExit(message)
        self.name, self.action = match[1], match[2] or "kill"
        self.first = int(match[3] or 1)
        self.last = int(match[4] or self.first)
        self._passages = 0
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        """Pass by; die or fail when it is this place and its time."""
        if name != self.name:
            return
        with self._lock:
            self._passages += 1
            passage = self._passages
        if self.first <= passage <= self.last:
            self._act()

    def _act(self) -> None:
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        code = _ERRORS[self.action]
        raise OSError(code, f"{os.strerror(code)} at the failpoint {self.name}")


def make_failpoint(environment: Mapping[str, str]) -> Callable[[str], None]:
    """What passing a place does in this environment: mostly nothing."""
    spelling = environment.get(VARIABLE)
    return Failpoint(spelling) if spelling else _pass_by


def _pass_by(_: str) -> None:
    """Nothing is armed."""


reach: Final = make_failpoint(os.environ)
