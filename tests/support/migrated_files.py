"""New SQLite files begin as copies of one that was migrated: twenty migrations cost more than most tests.

The copy is opened and checked as any file is. The tests of migrations begin with files of their own.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import uuid4

import pytest

from feedmill.adapters.files import make_private_file
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import store
from feedmill.adapters.store.sqlite.connection import connect

_STORE: Final = store.__name__


@pytest.fixture(scope="session", autouse=True)
def migrated_files() -> Iterator[None]:
    """Every new store of this test process, in a file or in memory, is a copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{_STORE}.make_private_file", _copy)
        patch.setattr(f"{_STORE}.migrate", _migrate)
        yield


def _copy(path: Path) -> None:
    """What `make_private_file` does, with a content: at once, whoever else opens the file."""
    beside = path.with_name(f"{path.name}.{uuid4().hex}.new")  # several threads may open it at once
    if path.exists():
        return
    make_private_file(beside)
    try:
        beside.write_bytes(_content())
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()


def _migrate(connection: sqlite3.Connection) -> int:
    if not connection.execute("PRAGMA database_list").fetchone()[2]:  # in memory
        _migrated().backup(connection)
    return migrate(connection)


@cache
def _content() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        connection = connect(str(path))
        _migrated().backup(connection)
        migrate(connection)  # a file has a write-ahead log
        connection.close()
        return path.read_bytes()


@cache
def _migrated() -> sqlite3.Connection:
    connection = connect(":memory:")
    migrate(connection)
    return connection
