"""A database of any earlier version becomes one of this version, or is left as it is."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.sample_refreshes import new_feed

from feedmill.adapters.files import make_private_file
from feedmill.adapters.store.migrate import MIGRATIONS, PAGE_BYTES, migrate, read_migrations
from feedmill.adapters.store.sqlite import store
from feedmill.adapters.store.sqlite.connection import connect
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.errors import MigrationError, StoreError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the released migrations, to be changed at will."""
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))


def schema(path: Path) -> list[str]:
    """Every statement that made the database, in a fixed order."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return sorted(sql for (sql,) in rows)


def migrated(path: Path, folder: Path = MIGRATIONS) -> int:
    connection = connect(str(path))
    try:
        return migrate(connection, folder)
    finally:
        connection.close()


def test_an_empty_file_gets_every_table_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    version = migrated(path)
    before = schema(path)
    again = migrated(path)

    assert version == again == len(read_migrations())
    assert schema(path) == before


def test_new_files_have_small_pages_and_old_files_keep_theirs(tmp_path: Path) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("CREATE TABLE schema_versions (version, name, sha256)")
        connection.commit()

    for path in (new, old):
        migrated(path)

    sizes = []
    for path in (new, old):
        with closing(sqlite3.connect(path)) as connection:
            sizes += connection.execute("PRAGMA page_size").fetchone()
    assert sizes == [PAGE_BYTES, 4096]


@pytest.mark.parametrize("version", range(1, len(read_migrations()) + 1))
def test_a_database_of_every_earlier_version_is_brought_up(
    tmp_path: Path, folder: Path, version: int
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    later = [path for path in sorted(folder.glob("*.sql")) if int(path.name[:4]) > version]
    for path in later:
        path.unlink()
    assert migrated(old, folder) == version

    migrated(old)
    migrated(new)

    assert schema(old) == schema(new)


def test_a_feed_of_the_first_version_keeps_its_header_blocks(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "store.db"
    for later in sorted(folder.glob("*.sql"))[1:]:
        later.unlink()
    migrated(path, folder)
    connection = connect(str(path))
    connection.execute(
        "INSERT INTO feeds (feed_no, id, url, feed_key, created_at, interval_sec,"
        " request_block, response_block) VALUES (1, 'a', 'u', 'u', 0, 900, 7, 8)"
    )
    blocks = [(7, 1, '[[":url","u"]]'), (8, 1, '[[":final_url","u"]]')]
    connection.executemany("INSERT INTO header_blocks VALUES (?, ?, ?)", blocks)
    connection.close()

    migrated(path)

    connection = connect(str(path))
    kept = connection.execute(
        "SELECT h.block FROM feeds f JOIN header_blocks h ON h.block_id IN (f.request_block, f.response_block)"
        " ORDER BY h.block_id"
    ).fetchall()
    connection.close()
    assert kept == [(block,) for _, _, block in blocks]


def test_a_changed_migration_is_refused(tmp_path: Path, folder: Path) -> None:
    path, first = tmp_path / "store.db", folder / read_migrations()[0].name
    migrated(path, folder)
    with first.with_suffix(".sql").open("a") as file:
        file.write("CREATE TABLE sneaky (x);\n")

    with pytest.raises(MigrationError, match="not the one that was applied") as caught:
        migrated(path, folder)

    assert caught.value.reason == "changed-migration"


def test_a_database_of_a_newer_version_is_refused_and_left_alone(
    tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "store.db"
    following = len(read_migrations()) + 1
    (folder / f"{following:04d}_of_the_future.sql").write_text("CREATE TABLE future (x);\n")
    migrated(path, folder)
    before = schema(path)

    with pytest.raises(MigrationError, match=f"at version {following}") as caught:
        asyncio.run(SqliteStore.open(path))

    assert caught.value.reason == "newer-schema"
    assert schema(path) == before


def test_a_failing_migration_leaves_nothing_behind(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "store.db"
    migrated(path, folder)
    before = schema(path)
    following = len(read_migrations()) + 1
    broken = "CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);\n"
    (folder / f"{following:04d}_broken.sql").write_text(broken)

    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrated(path, folder)

    assert schema(path) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("9999_gap.sql", "SELECT 1;\n"),
        (f"{len(read_migrations()) + 1:04d}_endless.sql", "CREATE TABLE endless (x"),
    ],
)
def test_migrations_with_a_gap_or_without_an_end_are_refused(
    tmp_path: Path, folder: Path, name: str, text: str
) -> None:
    (folder / name).write_text(text)

    with pytest.raises(MigrationError):
        migrated(tmp_path / "store.db", folder)


async def test_opening_many_times_at_once_migrates_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "make_private_file", make_private_file)  # no copy of a migrated one

    path = tmp_path / "deep" / "folder" / "store.db"
    stores = await asyncio.gather(*(SqliteStore.open(path) for _ in range(4)))
    for number, one in enumerate(stores):
        await one.add_feed(new_feed(number))
    assert (await stores[0].counts())["feeds"] == 4
    for one in stores:
        await one.close()


@pytest.mark.parametrize("make", ["folder", "text", "file-as-folder"])
def test_what_cannot_be_opened_says_so(tmp_path: Path, make: str) -> None:
    path = tmp_path / "store.db"
    if make == "folder":
        path.mkdir()
    else:
        path.write_text("this is no database, and long enough to be read as its header " * 20)
    if make == "file-as-folder":
        path /= "store.db"

    with pytest.raises(StoreError) as caught:
        asyncio.run(SqliteStore.open(path))

    assert caught.value.reason in {"cannot-open", "corrupt"}
    assert str(tmp_path) in str(caught.value)
