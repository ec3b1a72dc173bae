"""Tells whether anything was committed since, by any process, in microseconds and without waiting.

What was read while the number was the same is what a reader would find now, so interfaces may keep
answers that are asked for again and again.
"""
# Tested in tests/integration/adapters/store/sqlite/test_change_watch.py

import sqlite3

from feedmill.adapters.store.sqlite.connection import Connect
from feedmill.errors import StoreError


class ChangeWatch:
    """A connection of its own, which SQLite tells about the commits of all others."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None  # opened when first asked
        self._closed = False

    def version(self) -> int | None:
        """The number, which changes with every commit; None when the file does not answer at once."""
        if self._closed:
            return None
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._connection.execute("PRAGMA busy_timeout = 0")  # it is asked on the event loop
            found: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        except (sqlite3.Error, StoreError):
            return None
        return found

    def close(self) -> None:
        """End the connection; there is no number any more."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
