"""Reads the whole search index of SQLite: `PRAGMA integrity_check` sees its pages, and not what they hold.

SQLite's own check of the index is a write, which would stop every poll while it lasts.
"""
# Tested in tests/integration/interfaces/cli/test_damaged_store.py

import sqlite3
from typing import Final

from feedmill.adapters.store.sqlite.connection import is_damage

_TERMS: Final = "search_terms"  # a temporary view of the index: each term with its entries


def search_index_problems(connection: sqlite3.Connection) -> tuple[str, ...]:
    """One sentence when the index cannot be read to its end."""
    (is_reader,) = connection.execute("PRAGMA query_only").fetchone()
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute("SELECT rowid FROM entry_search_index LIMIT 1").fetchone()
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{_TERMS} USING fts5vocab (main, entry_search_index, instance)"
        )
        connection.execute(f"SELECT count(*) FROM temp.{_TERMS}").fetchone()
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return (f"the search index is damaged ({error}): `feedmill reindex` makes it anew",)
    finally:
        connection.execute(f"DROP TABLE IF EXISTS temp.{_TERMS}")
        connection.execute(f"PRAGMA query_only = {is_reader}")
    return ()
