"""NDJSON and CSV, rows as lines of a file or of standard output; and a SQLite file for Datasette, sqlite-utils and pandas.

The SQLite file has one table per export, and the views of the live store.
"""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

# ruff: noqa: S608  # names come from the lists of fields; values are parameters

import csv
import errno
import io
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Raw

from feedmill.adapters.files import make_private_file
from feedmill.model.running.export import ExportName, ExportRow, Field
from feedmill.publish.ndjson import json_lines

_JSON: Final = ("json", "texts", "addresses")

_TYPES: Final = {"integer": "INTEGER", "flag": "INTEGER", "real": "REAL"}
_AUTHOR: Final = ("name", "email", "uri")
_ENCLOSURE: Final = ("url", "type", "length", "title", "duration")


def open_file(path: Path, keep_bytes: int = 0) -> BinaryIO:
    """The file to write to, cut to what is kept of it."""
    file = path.open("r+b" if keep_bytes else "wb")
    file.truncate(keep_bytes)
    file.seek(keep_bytes)
    return file


class LineWriter:
    """Appends lines; a file is cut to `resume_at` bytes first."""

    def __init__(
        self,
        path: Path | None,
        encode: Callable[[Sequence[ExportRow]], bytes],
        *,
        head: bytes = b"",
        resume_at: int = 0,
    ) -> None:
        self._encode = encode
        self._file = sys.stdout.buffer if path is None else open_file(path, resume_at)
        self._size = resume_at
        if not resume_at:
            self._put(head)

    async def write(self, rows: Sequence[ExportRow]) -> None:
        """Append the rows."""
        self._put(self._encode(rows))

    def flush(self) -> int:
        """Hand everything to the system; the size of the file."""
        self._file.flush()
        return self._size

    def close(self) -> None:
        """Close the file; standard output stays open."""
        self._file.flush()
        if self._file is not sys.stdout.buffer:
            self._file.close()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._size += len(data)


def ndjson_writer(path: Path | None, fields: Sequence[Field], *, resume_at: int = 0) -> LineWriter:
    """One JSON object per line; lists and objects are JSON, not texts of it."""
    names = [field.name for field in fields]
    raw = [at for at, field in enumerate(fields) if field.kind in _JSON]

    def encode(rows: Sequence[ExportRow]) -> bytes:
        return json_lines(dict(zip(names, _with_json(row), strict=True)) for row in rows)

    def _with_json(row: ExportRow) -> list[Any]:
        values = list(row)
        for at in raw:
            if values[at] is not None:
                values[at] = Raw(values[at].encode())
        return values

    return LineWriter(path, encode, resume_at=resume_at)


def csv_writer(path: Path | None, fields: Sequence[Field], *, resume_at: int = 0) -> LineWriter:
    """RFC 4180 with a header line; lists are JSON, nothing is an empty cell."""
    flags = [at for at, field in enumerate(fields) if field.kind == "flag"]

    def encode(rows: Sequence[ExportRow]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(_with_words(row) for row in rows)
        return text.getvalue().encode("utf-8", "replace")

    def _with_words(row: ExportRow) -> list[Any]:
        values = list(row)
        for at in flags:
            values[at] = "true" if values[at] else "false"
        return values

    head = ",".join(field.name for field in fields) + "\r\n"
    return LineWriter(path, encode, head=head.encode(), resume_at=resume_at)


class SqliteWriter:
    """Rows by their key, so that a batch that is written again changes nothing."""

    def __init__(self, path: Path, name: ExportName, fields: Sequence[Field]) -> None:
        path.touch()  # an OSError says what is wrong with it, SQLite does not
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        columns = ", ".join(f"{one.name} {_TYPES.get(one.kind, 'TEXT')}" for one in fields)
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS {name} ({columns}, PRIMARY KEY ({fields[0].name}))"
        )
        for statement in _views(name):
            self._connection.execute(statement)
        marks = ", ".join("?" * len(fields))
        self._insert = f"INSERT OR REPLACE INTO {name} VALUES ({marks})"

    async def write(self, rows: Sequence[ExportRow]) -> None:
        """Write the rows in one transaction."""
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(self._insert, rows)
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as problem:
            # The disk is full, or another program holds the file.
            raise OSError(errno.EIO, str(problem), str(self._path)) from problem

    def flush(self) -> int:
        """Every batch is committed; the file is continued as it is."""
        return 0

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy of a SQLite store beside those who write to it, for its owner alone."""
    make_private_file(target)
    connection = sqlite3.connect(source)
    try:
        connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as problem:  # the disk is full, or the store is damaged
        raise OSError(errno.EIO, str(problem), str(target)) from problem
    finally:
        connection.close()


def _views(name: ExportName) -> list[str]:
    """The views of the live store over this table, so that a question works on both."""
    made = [f"CREATE VIEW IF NOT EXISTS {name}_view AS SELECT * FROM {name}"]
    if name == "entries":
        made += [
            _unfolded("entry_categories", "categories", "j.value AS category"),
            _unfolded("entry_authors", "authors", _members(_AUTHOR)),
            _unfolded("entry_enclosures", "enclosures", _members(_ENCLOSURE)),
        ]
    return made


def _unfolded(view: str, column: str, values: str) -> str:
    return (
        f"CREATE VIEW IF NOT EXISTS {view}_view AS SELECT e.entry_uid, e.feed_id, e.feed_url,"
        f" j.key AS position, {values} FROM entries_view e, json_each(e.{column}) j"
    )


def _members(names: Sequence[str]) -> str:
    return ", ".join(f"json_extract(j.value, '$.{name}') AS {name}" for name in names)
