"""The source of a transfer: one SQLite file that no other process has open.

It is opened in SQLite's exclusive mode. That fails while any other process has the file open, even one
that only waits for its next poll, and while it is held no other process can open it: so nothing is written
that would be lost, and every read sees one state. The lock ends with the process, however that ends.

Its rows are read as PostgreSQL takes them: the same values, but for what its texts cannot hold. NUL becomes U+FFFD, in texts and inside JSON; digests are computed; what belonged to a process of the
old store becomes NULL. Nothing else changes, so both stores can be compared row by row.
"""
# Tested in tests/integration/adapters/store/transfer/

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from feedmill.adapters.store.check_rows import TABLES, Key, Table
from feedmill.adapters.store.migrate import applied_to, check_applied, read_migrations
from feedmill.adapters.store.postgres.parameters import clean_value, postgres_text
from feedmill.adapters.store.sqlite.connection import is_busy, store_error
from feedmill.adapters.store.tables.codec import Row, digest, json_text
from feedmill.errors import ConflictError, MigrationError, StoreError

T = TypeVar("T")

BATCH_BYTES: Final = 8_000_000

_WAIT_SEC: Final = 1.0  # for a command that is just ending
_DAY: Final = 86_400_000_000  # microseconds

NUL: Final = "\x00"
REPLACED: Final = "\ufffd"

_NUL_IN_JSON: Final = "\\u0000"  # or a backslash and these letters, which costs a needless look


class Translation:
    """How rows of one table are translated: `columns` as they come, `new_columns` as they leave."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        made = {**table.copies, **table.digests}
        self.table, self.columns = table, tuple(columns)
        self.new_columns = (*columns, *made)
        self._copied = [self._place(text) for text in table.copies.values()]
        self._digested = [self._place(text) for text in table.digests.values()]
        self._json = [self._place(name) for name in table.json]
        self._blank = [self._place(name) for name in table.blank]
        self._key = [self.new_columns.index(name) for name in table.key]

    def key_of(self, row: Row) -> Key:
        """What both stores are ordered by, in a new row; digests as their digits."""
        values = (row[place] for place in self._key)
        return tuple(one.hex() if isinstance(one, bytes) else one for one in values)

    def __call__(self, row: Row) -> tuple[Row, int]:
        """The new row, and how many characters were replaced in it."""
        replaced = 0
        if any(type(value) is str and NUL in value for value in row):
            replaced, row = _without_nul(row)
        for place in self._json:
            if (text := row[place]) is not None and _NUL_IN_JSON in text:
                more, clean = _json_without_nul(text)
                replaced, row = replaced + more, _with(row, place, clean)
        for place in self._blank:
            row = _with(row, place, None)
        copies = (row[place] for place in self._copied)
        return (*row, *copies, *(digest(row[place]) for place in self._digested)), replaced

    def _place(self, column: str) -> int:
        return self.columns.index(column)


def ordering(table: Table, name: str) -> str:
    """What SQLite orders by where PostgreSQL orders by the column `name`."""
    if name in table.digests:
        return f'{DIGEST}("{table.digests[name]}")'
    return f'{STORABLE}("{name}")' if name in table.free_text else f'"{name}"'


DIGEST: Final = "feedmill_digest"
STORABLE: Final = "feedmill_storable"
FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {
    DIGEST: lambda text: digest(postgres_text(text)).hex(),
    STORABLE: postgres_text,
}


def size_of(row: Row) -> int:
    """About how many bytes a row has."""
    return sum(len(value) if type(value) is str else 8 for value in row)


def _without_nul(row: Row) -> tuple[int, Row]:
    texts = [value for value in row if isinstance(value, str)]
    clean = tuple(postgres_text(value) if isinstance(value, str) else value for value in row)
    return sum(text.count(NUL) for text in texts), clean


def _json_without_nul(text: str) -> tuple[int, str]:
    clean = json_text(clean_value(msgspec.json.decode(text)))
    return text.count(_NUL_IN_JSON) - clean.count(_NUL_IN_JSON), clean


def _with(row: Row, place: int, value: Any) -> Row:  # noqa: ANN401  # whatever a row is made of
    return (*row[:place], value, *row[place + 1 :])


class Survey(msgspec.Struct, frozen=True):
    """What there is to carry."""

    rows: dict[str, int]
    numbers: dict[str, int]  # the largest that was ever given, of tables that count
    last_seq: int
    first_seq: int
    days: tuple[int, ...]  # since 1970, that fetches were scheduled on
    mark: str


class RowBatch(msgspec.Struct, frozen=True):
    """Some rows in the order of their keys; at least one."""

    rows: list[Row]
    last_key: Key
    replaced: int


class SqliteSource:
    """The file and its lock; made by `open`, ended by `close`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path
        self._translations = {
            table.name: Translation(table, [name for name, _ in _columns(connection, table)])
            for table in TABLES
        }

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Lock a file of this version of feedmill; ConflictError when another process has it open."""
        return await asyncio.to_thread(lambda: cls(_locked(path), path))

    async def close(self) -> None:
        """Let others have the file again; nothing was written."""
        await asyncio.to_thread(self._connection.close)

    def translation(self, table: Table) -> Translation:
        """How rows of the table are translated."""
        return self._translations[table.name]

    async def survey(self) -> Survey:
        """Count everything, and take a mark that changes when the file was written."""
        return await self._ask(self._survey)

    async def store_id(self) -> str | None:
        """The id of the old store; None when it was never asked for."""
        found = await self._ask(
            lambda: self._connection.execute("SELECT id FROM store_identity").fetchone()
        )
        return found[0] if found else None

    async def batches(
        self, table: Table, after: Key | None = None, *, batch_rows: int
    ) -> AsyncIterator[RowBatch]:
        """The rows behind a key in the order of their keys, a limited number of rows and bytes at once."""
        cursor = await self._ask(lambda: self._cursor(table, after))
        translation = self.translation(table)
        try:
            while batch := await self._ask(lambda: _next(cursor, translation, batch_rows)):
                yield batch
        finally:
            cursor.close()

    async def _ask(self, question: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(question)
        except sqlite3.Error as error:
            raise store_error(error, str(self.path)) from error

    def _cursor(self, table: Table, after: Key | None) -> sqlite3.Cursor:
        columns = ", ".join(f'"{name}"' for name in self.translation(table).columns)
        order = ", ".join(ordering(table, name) for name in table.key)
        places = ", ".join("?" * len(table.key))
        where = "" if after is None else f" WHERE ({order}) > ({places})"
        return self._connection.execute(
            f"SELECT {columns} FROM {table.old_name}{where} ORDER BY {order}", after or ()
        )

    def _survey(self) -> Survey:
        counted = {table.name: _counted(self._connection, table) for table in TABLES}
        ask = self._connection.execute
        days = ask(f"SELECT DISTINCT scheduled_at / {_DAY} FROM fetches ORDER BY 1").fetchall()
        (first_seq,) = ask("SELECT coalesce(min(seq), 1) FROM outbox").fetchone()
        return Survey(
            rows={name: int(counts["count"] or 0) for name, counts in counted.items()},
            numbers=_numbers(self._connection, counted),
            last_seq=int(counted["events"]["seq"] or 0),
            first_seq=first_seq,
            days=tuple(day for (day,) in days),
            mark=sha256(msgspec.json.encode(counted)).hexdigest(),
        )


_Counts = dict[str, int | None]


def _locked(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        message = f"{path}: there is no such file; name the database of a mill"
        raise StoreError(message, reason="cannot-open")
    try:
        connection = sqlite3.connect(
            path, timeout=_WAIT_SEC, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise store_error(error, str(path)) from error
    try:
        _lock(connection)
        _check_version(connection, path)
    except sqlite3.Error as error:
        connection.close()
        if is_busy(error):
            raise _in_use(path) from error
        raise store_error(error, str(path)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _lock(connection: sqlite3.Connection) -> None:
    """Before anything is read: afterwards the mode would only hold for the next transaction."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("PRAGMA query_only = ON")
    for name, function in FUNCTIONS.items():
        connection.create_function(name, 1, function, deterministic=True)


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    applied, migrations = applied_to(connection), read_migrations()
    if not applied:
        message = f"{path}: this is no store of feedmill; name the database of a mill"
        raise MigrationError(message, reason="no-schema")
    check_applied(applied, migrations, str(path))
    if len(applied) < len(migrations):
        message = (
            f"{path}: the file is at version {len(applied)}, this feedmill is at {len(migrations)}; "
            "run `feedmill migrate` on it first"
        )
        raise MigrationError(message, reason="schema-behind")


def _in_use(path: Path) -> ConflictError:
    message = f"{path} is open in another process"
    hint = "stop the mill and whatever else reads it; what it wrote meanwhile would be lost"
    return ConflictError(message, reason="in-use", hint=hint)


def _columns(connection: sqlite3.Connection, table: Table) -> list[tuple[str, str]]:
    rows = connection.execute(f"PRAGMA table_info({table.old_name})")
    return [(row[1], row[2]) for row in rows if row[1] not in table.left_out]


def _counted(connection: sqlite3.Connection, table: Table) -> _Counts:
    """How many rows there are, and the largest value of each column of numbers."""
    names = [name for name, kind in _columns(connection, table) if kind == "INTEGER"]
    largest = "".join(f', max("{name}")' for name in names)
    row = connection.execute(f"SELECT count(*){largest} FROM {table.old_name}").fetchone()
    return dict(zip(("count", *names), row, strict=True))


def _numbers(connection: sqlite3.Connection, counted: dict[str, _Counts]) -> dict[str, int]:
    """The largest number ever given, also to a row that is gone: identities rely on it."""
    given = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    numbers = {
        table.name: max(counted[table.name][table.number] or 0, given.get(table.old_name, 0))
        for table in TABLES
        if table.number is not None
    }
    buried = counted["tombstones"]["entry_id"] or 0
    return {**numbers, "entries": max(numbers["entries"], buried)}


def _next(cursor: sqlite3.Cursor, translation: Translation, batch_rows: int) -> RowBatch | None:
    rows: list[Row] = []
    replaced = size = 0
    while len(rows) < batch_rows and size < BATCH_BYTES:
        found = cursor.fetchone()
        if found is None:
            break
        row, count = translation(found)
        rows.append(row)
        replaced += count
        size += size_of(row)
    return RowBatch(rows, translation.key_of(rows[-1]), replaced) if rows else None
