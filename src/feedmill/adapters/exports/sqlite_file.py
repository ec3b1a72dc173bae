"""A SQLite file for Datasette, sqlite-utils and pandas: one table per export, and the views of the live store."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

# ruff: noqa: S608  # names come from the lists of fields; values are parameters

import errno
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from feedmill.adapters.files import make_private_file
from feedmill.model.running.export import ExportName, ExportRow, Field

_TYPES: Final = {"integer": "INTEGER", "flag": "INTEGER", "real": "REAL"}
_AUTHOR: Final = ("name", "email", "uri")
_ENCLOSURE: Final = ("url", "type", "length", "title", "duration")


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
        except (
            sqlite3.OperationalError
        ) as problem:  # the disk is full, or another program holds the file
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
