"""The books, read by somebody else: plain SQL and plain files, none of the engine's code."""

import asyncio
import atexit
import json
import sqlite3
import time
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg
from tests.support.living_feeds_publisher import Press
from tests.support.loop_thread import LoopThread
from tests.support.run_process import FLOOR_SEC
from tests.support.waiting import HANG_GUARD_SEC

_ENTRY_CHANGES = ("new_entry", "entry.updated")  # events that a line of out/entries tells


def ledger_of(home: Path, store_url: str | None) -> "Ledger":
    """The books of a mill, wherever it keeps them."""
    return Ledger(home) if store_url is None else PostgresLedger(home, store_url)


class Ledger:
    """What a home folder holds, and every promise that it can break."""

    _log = "outbox"  # the table of the events that have a number

    def __init__(self, home: Path) -> None:
        self._database = home / "feedmill.db"
        self._out = home / "out"

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self._database, timeout=HANG_GUARD_SEC, isolation_level=None)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def number(self, statement: str) -> int:
        return int(self.rows(statement)[0][0])

    def entries(self) -> dict[str, list[str]]:
        """The guids that are stored, by the address of their feed."""
        found: dict[str, list[str]] = {}
        for url, guid in self.rows(
            "SELECT f.url, e.guid FROM feeds f LEFT JOIN entries e ON e.feed_no = f.feed_no"
            " ORDER BY e.entry_id"
        ):
            found.setdefault(url, []).extend([guid] if guid else [])
        return found

    def size(self) -> int:
        """How many entries are stored."""
        return self.number("SELECT count(*) FROM entries")

    def has(self, press: Press) -> bool:
        """True when every item that was published is stored."""
        stored = self.entries()
        return all(set(guids) <= set(stored[url]) for url, guids in press.published.items())

    def check(self, press: Press) -> None:
        """What holds at every moment, a crash or not."""
        self._check_file()
        self._check_entries(press)
        self._check_events()
        self._check_validators(press)
        self._check_raw()
        check_spacing(press)

    def is_delivered(self) -> bool:
        """True when the cursors of both kinds of files are at the end of the log."""
        last = self.number("SELECT coalesce(max(seq), 0) FROM outbox")
        return self.rows("SELECT DISTINCT seq FROM consumer_cursors") == [(last,)]

    def check_delivered(self) -> None:
        """What holds once everything was handed over: each event and each entry on one line, in order."""
        told = self.rows(f"SELECT seq, type FROM {self._log} ORDER BY seq")
        assert self._lines("events") == [seq for seq, _ in told]
        assert self._lines("entries") == [seq for seq, kind in told if kind in _ENTRY_CHANGES]

    def _lines(self, kind: str) -> list[int]:
        """The numbers on the lines of the files of one kind."""
        return [
            json.loads(line)["seq"]
            for path in sorted((self._out / kind).glob("*.ndjson"))
            for line in path.read_text("utf-8").splitlines()
        ]

    def leases(self, pid: int) -> int:
        """Lanes that this process still holds."""
        owner = f"%:{pid}"
        return self.number(f"SELECT count(*) FROM lanes WHERE owner LIKE '{owner}'")

    def expire_leases(self, pid: int) -> None:
        """Let the leases of a process end as soon as its feeds may be asked again.

        The runs under way end with the lease; no test has to wait minutes for it.
        """
        at = time.time_ns() // 1000 + round(2 * FLOOR_SEC * 1_000_000)
        held = f"owner LIKE '%:{pid}'"
        self.rows(
            f"UPDATE feed_sched SET next_run_at = {at} WHERE next_run_at > {at}"
            f" AND lane_id IN (SELECT lane_id FROM lanes WHERE {held})"
        )
        self.rows(f"UPDATE lanes SET claim_at = {at} WHERE {held}")

    def is_present(self, pid: int) -> bool:
        """True once this process has said that it works here: from then on it handles signals."""
        return self.number(f"SELECT count(*) FROM workers WHERE name LIKE '%:{pid}'") == 1

    def _check_file(self) -> None:
        assert self.rows("PRAGMA integrity_check") == [("ok",)]

    def _check_entries(self, press: Press) -> None:
        published = press.published
        for url, guids in self.entries().items():
            twice = [guid for guid, count in Counter(guids).items() if count > 1]
            assert not twice, f"stored twice: {twice}"
            assert set(guids) <= set(published.get(url, guids))

    def _check_events(self) -> None:
        numbers = [seq for (seq,) in self.rows("SELECT seq FROM outbox ORDER BY seq")]
        assert numbers == list(range(1, len(numbers) + 1))
        told = "SELECT entry_uid FROM outbox WHERE type = 'new_entry' ORDER BY 1"
        assert self.rows(told) == self.rows("SELECT entry_uid FROM entries ORDER BY 1")

    def _check_validators(self, press: Press) -> None:
        """The origin would answer 304 to them: so the entries have to be here."""
        stored = self.entries()
        rows = self.rows("SELECT url, etag FROM feeds WHERE etag IS NOT NULL")
        for url, etag in (row for row in rows if row[0] in press.published):
            missing = set(press.vouched_by(etag)) - set(stored[url])
            assert not missing, f"{etag} vouches for {missing}"

    def _check_raw(self) -> None:
        orphaned = self.rows(
            "SELECT fetch_id FROM fetches WHERE body_sha256 IS NOT NULL"
            " AND body_sha256 NOT IN (SELECT sha256 FROM blobs)"
        )
        assert not orphaned, f"fetches without their bytes: {orphaned}"


class PostgresLedger(Ledger):
    """The same of a database: its log has events with numbers, and some that wait for theirs."""

    _log = "events"

    def __init__(self, home: Path, dsn: str) -> None:
        super().__init__(home)
        self._dsn = dsn

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return _reader().rows(self._dsn, statement)

    def is_delivered(self) -> bool:
        waiting = self.number("SELECT count(*) FROM outbox")
        last = self.number("SELECT coalesce(max(seq), 0) FROM events")
        told = self.rows("SELECT DISTINCT seq FROM consumer_cursors")
        return not waiting and told == [(last,)]

    def _check_file(self) -> None:
        """PostgreSQL looks after its own files."""

    def _check_events(self) -> None:
        """Numbers without gaps, and each entry told once, with a number or still without."""
        numbers = [seq for (seq,) in self.rows("SELECT seq FROM events ORDER BY seq")]
        assert numbers == list(range(1, len(numbers) + 1))
        told = (
            "SELECT entry_uid FROM events WHERE type = 'new_entry' UNION ALL"
            " SELECT entry_uid FROM outbox WHERE type = 'new_entry'"
        )
        assert sorted(self.rows(told)) == sorted(self.rows("SELECT entry_uid FROM entries"))


class _Reader:
    """One connection for all looks into one database: a new one costs PostgreSQL more than the look."""

    def __init__(self) -> None:
        self._thread, self._lock = LoopThread(), asyncio.Lock()
        self._dsn = ""
        self._connection: Any = None  # of asyncpg
        atexit.register(self._close)

    def rows(self, dsn: str, statement: str) -> list[tuple[Any, ...]]:
        return self._thread.start(self._rows(dsn, statement)).result()

    async def _rows(self, dsn: str, statement: str) -> list[tuple[Any, ...]]:
        async with self._lock:  # looks come from several threads
            try:
                connection = await self._connected(dsn)
                return [tuple(row) for row in await connection.fetch(statement)]
            except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError):
                self._leave()  # the server was restarted since the last look
            connection = await self._connected(dsn)
            return [tuple(row) for row in await connection.fetch(statement)]

    async def _connected(self, dsn: str) -> Any:
        if dsn != self._dsn:
            self._leave()
        if self._connection is None:
            self._connection = await asyncpg.connect(dsn, timeout=HANG_GUARD_SEC)
            self._dsn = dsn
        return self._connection

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def _close(self) -> None:
        async def leave() -> None:
            self._leave()

        self._thread.start(leave()).result()
        self._thread.close()


@cache
def _reader() -> _Reader:
    return _Reader()


def check_spacing(press: Press, floor_sec: float = FLOOR_SEC) -> None:
    """No feed was asked twice within its floor, whoever died in between."""
    for number, moments in press.asked.items():
        gaps = [later - earlier for earlier, later in pairwise(moments)]
        early = [gap for gap in gaps if gap < floor_sec]
        assert not early, f"feed {number} was asked again after {early} s"
