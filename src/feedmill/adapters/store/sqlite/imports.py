"""What became of the outlines of imported lists, so that an import that was cut short goes on."""

import sqlite3
from collections.abc import Sequence

from feedmill.adapters.store.tables.imports import OUTLINE_COLUMNS, outline_of, outline_row
from feedmill.model.feed import ImportedOutline


def imported(connection: sqlite3.Connection, list_id: str) -> tuple[ImportedOutline, ...]:
    """The outlines of a list that were dealt with, in the order of their addresses."""
    rows = connection.execute(
        f"SELECT {OUTLINE_COLUMNS} FROM import_outlines WHERE list_id = ? ORDER BY url",  # noqa: S608  # names from beside
        (list_id,),
    )
    return tuple(outline_of(row) for row in rows)


def note_imported(
    connection: sqlite3.Connection, list_id: str, items: Sequence[ImportedOutline]
) -> None:
    """Remember what became of these outlines; the last word on an address counts."""
    connection.executemany(
        "INSERT OR REPLACE INTO import_outlines VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(list_id, *outline_row(one)) for one in items],
    )
