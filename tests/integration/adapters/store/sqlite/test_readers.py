"""The threads that read one SQLite file."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.adapters.store.sqlite.connection import connect, connect_reader
from feedmill.adapters.store.sqlite.readers import Readers


def _count(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("SELECT count(*) FROM notes").fetchone()[0]
    return found


def test_a_question_asked_after_a_write_sees_it_while_older_ones_are_being_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.adapters.store.sqlite.readers.READ_GROUP_SEC", HANG_GUARD_SEC)
    path = str(tmp_path / "notes.db")
    is_answering, may_go_on = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> int:
        found = _count(connection)
        is_answering.set()
        assert may_go_on.wait(HANG_GUARD_SEC)
        return found

    async def story() -> tuple[int, int]:
        readers = Readers(partial(connect_reader, path), path, threads=1)
        try:
            async with hang_guard():
                older = asyncio.create_task(readers.run(slow))
                await asyncio.to_thread(is_answering.wait, HANG_GUARD_SEC)
                with closing(connect(path)) as connection:
                    connection.execute("INSERT INTO notes VALUES (1)")
                younger = asyncio.create_task(readers.run(_count))
                await asyncio.sleep(0)  # it is asked now
                may_go_on.set()
                return await older, await younger
        finally:
            may_go_on.set()
            await readers.close()

    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (n INTEGER)")
    assert asyncio.run(story()) == (0, 1)
