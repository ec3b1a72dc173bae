"""Cache of screening between runs: vectors and judgements, in one small SQLite file.

It is a cache. A file that cannot be opened or written costs time, never a result.
"""
# Tested in tests/integration/engine/two_phase/test_screen.py

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from feedmill.observe import log

_MAX_ROWS: Final = 300_000
_SCHEMA: Final = """
create table if not exists kept (
  place integer primary key, kind text not null, key text not null, value blob not null,
  unique (kind, key)
)
"""


class ScreeningCache:
    """Values by kind and key; made for one event loop, closed by its creator."""

    def __init__(self, path: Path | None) -> None:
        self._database: sqlite3.Connection | None = None
        self._lock = asyncio.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path or ":memory:", check_same_thread=False)
            self._database.executescript(f"pragma journal_mode = wal; {_SCHEMA}")
        except (OSError, sqlite3.Error) as problem:
            self._give_up(problem)

    async def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values of those keys that are remembered."""
        async with self._lock:
            return await asyncio.to_thread(self._recall, kind, keys)

    async def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Remember values."""
        async with self._lock:
            await asyncio.to_thread(self._keep, kind, values)

    async def close(self) -> None:
        """Let go of what is oldest beyond the limit, and of the file."""
        async with self._lock:
            await asyncio.to_thread(self._close)

    def _recall(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        if self._database is None:
            return found
        try:
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                marks = ",".join("?" * len(some))
                query = f"select key, value from kept where kind = ? and key in ({marks})"  # noqa: S608  # marks only
                found.update(self._database.execute(query, (kind, *some)))
        except sqlite3.Error as problem:
            self._give_up(problem)
        return found

    def _keep(self, kind: str, values: Mapping[str, bytes]) -> None:
        if self._database is None:
            return
        try:
            with self._database:
                self._database.executemany(
                    "insert or replace into kept (kind, key, value) values (?, ?, ?)",
                    [(kind, key, value) for key, value in values.items()],
                )
        except sqlite3.Error as problem:
            self._give_up(problem)

    def _close(self) -> None:
        if self._database is None:
            return
        try:
            with self._database:
                self._database.execute(
                    "delete from kept where place <= (select max(place) from kept) - ?",
                    (_MAX_ROWS,),
                )
        except sqlite3.Error as problem:
            self._give_up(problem)
            return
        self._database.close()
        self._database = None

    def _give_up(self, problem: Exception) -> None:
        log.logger("screen").warning("nothing is remembered between runs", problem=str(problem))
        if self._database is not None:
            self._database.close()
        self._database = None
