"""The number that changes with every commit of any process, and the answers that are kept by it."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.store.sqlite.connection import MEMORY, connect, connect_reader
from feedmill.adapters.store.sqlite.readers import ChangeWatch
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.errors import StoreError
from feedmill.model.running.webhook import Token

_INSERT = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO notes VALUES (2)'); c.commit()"


@pytest.fixture
def path(tmp_path: Path) -> str:
    found = str(tmp_path / "notes.db")
    with closing(connect(found)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (n INTEGER)")
    return found


@pytest.fixture
def watch(path: str) -> Iterator[ChangeWatch]:
    found = ChangeWatch(partial(connect_reader, path))
    yield found
    found.close()


def test_the_number_stays_while_nothing_is_committed(path: str, watch: ChangeWatch) -> None:
    before = watch.version()

    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO notes VALUES (1)")
        during = watch.version()
        other.execute("ROLLBACK")
        assert other.execute("SELECT count(*) FROM notes").fetchone() == (0,)

    assert before is not None
    assert before == during == watch.version()


def test_every_commit_changes_the_number(path: str, watch: ChangeWatch) -> None:
    seen = [watch.version()]

    with closing(connect(path)) as other:
        for _ in range(3):
            other.execute("INSERT INTO notes VALUES (1)")
            seen.append(watch.version())

    assert len(set(seen)) == 4


def test_a_commit_of_another_process_changes_the_number(path: str, watch: ChangeWatch) -> None:
    before = watch.version()

    subprocess.run([sys.executable, "-c", _INSERT, path], check=True, timeout=HANG_GUARD_SEC)

    assert watch.version() != before


def test_a_checkpoint_hides_no_commit(path: str, watch: ChangeWatch) -> None:
    before = watch.version()

    with closing(connect(path)) as other:
        other.execute("INSERT INTO notes VALUES (1)")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert watch.version() != before


def test_there_is_no_number_for_a_file_that_cannot_be_opened_or_was_closed(
    watch: ChangeWatch,
) -> None:
    def refuse() -> sqlite3.Connection:
        message = "it cannot be opened"
        raise StoreError(message, reason="cannot-open")

    assert ChangeWatch(refuse).version() is None
    assert watch.version() is not None
    watch.close()
    assert watch.version() is None


def test_a_store_in_memory_has_no_number_because_one_connection_does_everything() -> None:
    async def story() -> int | None:
        store = await SqliteStore.open(MEMORY)
        try:
            return store.version()
        finally:
            await store.close()

    assert asyncio.run(story()) is None


def test_a_token_revoked_by_another_process_is_not_accepted_from_a_kept_answer(
    tmp_path: Path,
) -> None:
    token = Token(
        id="t1", name="reader", scopes=("read",), created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    digest = "ab" * 32

    async def story() -> tuple[int, int, int, bool]:
        mine = await SqliteStore.open(tmp_path / "feedmill.db")
        theirs = await SqliteStore.open(tmp_path / "feedmill.db")
        try:
            await mine.add_token(token, digest)
            before = await mine.token_secrets(digest[:8])
            again = await mine.token_secrets(digest[:8])
            await theirs.revoke_token("t1", datetime(2026, 1, 2, tzinfo=UTC))
            after = await mine.token_secrets(digest[:8])
            (listed,) = await mine.tokens()
            return len(before), len(again), len(after), listed.revoked_at is not None
        finally:
            await mine.close()
            await theirs.close()

    assert asyncio.run(story()) == (1, 1, 0, True)
