"""Makes the event log durable before anybody reads it (D37).

With `synchronous = normal` SQLite writes a commit into the write-ahead log (-wal) and leaves it to the
operating system when that reaches the disk. So a reader of events has the -wal synced first, unless a
sync after the commit of the newest of them has been made: one sync for all that was committed since the last
one, and none while nothing new is read. What a checkpoint has taken out of the -wal, SQLite has synced itself.
"""
# Tested in tests/integration/crash/test_power_cut.py

import os
import threading
from contextlib import closing

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.sqlite.connection import connect, translated
from feedmill.errors import StoreError


class WalSync:
    """How far the log of one SQLite file is known to be on the disk."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seq = 0
        self._has_failed = False

    def covers(self, seq: int) -> bool:
        """True when the event with this number is durable."""
        return seq <= self._seq

    def cover(self, seq: int) -> None:
        """Return once the event, which was read from the file, is durable."""
        with self._lock:
            if self.covers(seq):
                return
            reach("log-sync")
            if self._has_failed:
                self._checkpoint()
            else:
                self._sync()
            self._seq = seq

    def _sync(self) -> None:
        try:
            # Closing a descriptor takes SQLite's locks away from a process, but it has none on this file.
            descriptor = os.open(f"{self._path}-wal", os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            self._has_failed = True
            message = (
                f"{self._path}: the event log could not be synced to the disk; check it ({problem})"
            )
            raise StoreError(message, reason="io-error") from problem

    def _checkpoint(self) -> None:
        """Write the log into the database itself.

        After a failed sync the operating system may hold for written what never reached the disk, and the
        next sync would succeed (https://lwn.net/Articles/752063/).
        """

        def checkpoint() -> tuple[int, int, int]:
            with closing(connect(self._path)) as connection:
                found: tuple[int, int, int] = connection.execute(
                    "PRAGMA wal_checkpoint(PASSIVE)"
                ).fetchone()
                return found

        busy, frames, written = translated(self._path, checkpoint)
        if busy or written < frames:
            message = (
                f"{self._path}: a sync failed, and a reader holds up the checkpoint; trying again"
            )
            raise StoreError(message, reason="io-error")
        self._has_failed = False
