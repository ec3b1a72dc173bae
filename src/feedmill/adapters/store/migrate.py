"""Bring a database to this version: numbered SQL files, each applied once in one transaction.

A file that was applied is history: its SHA-256 is kept, and a changed one is refused. A database
that a newer feedmill has migrated is refused as well, because we would not know what we break.
"""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.sqlite.connection import is_busy, key_hash
from feedmill.errors import MigrationError

MIGRATIONS: Final = Path(__file__).parent / "migrations" / "sqlite"

# A poll changes a few bytes of each page that it touches, and the log takes whole pages (docs/explanation/capacity.md).
PAGE_BYTES: Final = 2048

_TRIES: Final = 60  # of one busy slice each
_VERSIONS: Final = """CREATE TABLE IF NOT EXISTS schema_versions (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT"""


class Migration(NamedTuple):
    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """What is compared with the file that was applied; line ends do not count."""
        return sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()


def migrate(connection: sqlite3.Connection, folder: Path = MIGRATIONS) -> int:
    """Apply what is missing; the version that the database has now."""
    migrations = read_migrations(folder)
    connection.create_function("key_hash", 1, key_hash, deterministic=True)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # an older file keeps its own
    _patiently(connection, "PRAGMA journal_mode = WAL")
    while _apply_next(connection, migrations):
        pass
    return migrations[-1].version


def check_migrated(connection: sqlite3.Connection, path: str) -> None:
    """MigrationError when a file that cannot be written lacks migrations."""
    applied, migrations = applied_to(connection), read_migrations()
    check_applied(applied, migrations, path)
    if len(applied) < len(migrations):
        message = f"{path} was made by an earlier version and cannot be written, so it cannot be migrated; copy it and open the copy"
        raise MigrationError(message, reason="read-only")


def read_migrations(folder: Path = MIGRATIONS) -> tuple[Migration, ...]:
    """Every migration in order; numbers begin at 1 and have no gaps."""
    paths = sorted(folder.glob("[0-9]*.sql"))
    found = tuple(
        Migration(int(path.name[:4]), path.stem, path.read_text(encoding="utf-8")) for path in paths
    )
    if not found or [one.version for one in found] != list(range(1, len(found) + 1)):
        message = f"{folder}: migrations must be numbered from 0001 without gaps"
        raise MigrationError(message, reason="broken-migrations")
    return found


def applied_to(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Version, name and digest of what was applied to a database; nothing of one without tables."""
    try:
        return connection.execute(
            "SELECT version, name, sha256 FROM schema_versions ORDER BY version"
        ).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return []


def _apply_next(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> bool:
    """One step in one transaction, so that two processes that open a new file take turns."""
    _patiently(connection, "BEGIN IMMEDIATE")
    try:
        connection.execute(_VERSIONS)
        applied = connection.execute(
            "SELECT version, name, sha256 FROM schema_versions ORDER BY version"
        ).fetchall()
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        check_applied(applied, migrations, path)
        if len(applied) == len(migrations):
            return False
        _apply(connection, migrations[len(applied)])
        reach("migrate-step")
        connection.execute("COMMIT")
        reach("migrate-stepped")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return True


def check_applied(
    applied: list[tuple[int, str, str]], migrations: tuple[Migration, ...], where: str = ""
) -> None:
    """MigrationError when the database is newer than we are, or its history is another."""
    where = f"{where}: " if where else ""
    if len(applied) > len(migrations):
        message = (
            f"{where}the database is at version {len(applied)}, this feedmill knows {len(migrations)}; "
            "install the feedmill that wrote it, or a newer one"
        )
        raise MigrationError(message, reason="newer-schema")
    for (version, name, digest), ours in zip(applied, migrations, strict=False):
        if (version, digest) != (ours.version, ours.sha256):
            message = (
                f"{where}migration {name} is not the one that was applied to this database; "
                "restore the file as it was released and add a new migration instead"
            )
            raise MigrationError(message, reason="changed-migration")


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.sql):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_versions (version, name, sha256) VALUES (?, ?, ?)",
        (migration.version, migration.name, migration.sha256),
    )


def _statements(sql: str) -> Iterator[str]:
    """Statement by statement: executescript would commit before it begins."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if ";" in line and sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        message = f"a statement has no end: {pending[:80]!r}"
        raise MigrationError(message, reason="broken-migrations")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute what needs the lock; each try waits a second inside SQLite."""
    for tries_left in reversed(range(_TRIES)):
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or not tries_left:
                raise
        else:
            return
