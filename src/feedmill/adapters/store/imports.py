"""What became of the outlines of imported lists, so that an import that was cut short goes on."""

import sqlite3
from collections.abc import Sequence

from feedmill.adapters.store.rows import instant, micros
from feedmill.model.feed import ImportedOutline


def imported(connection: sqlite3.Connection, list_id: str) -> tuple[ImportedOutline, ...]:
    """The outlines of a list that were dealt with, in the order of their addresses."""
    rows = connection.execute(
        "SELECT url, outcome, feed_id, reason, detail, at, digest FROM import_outlines"
        " WHERE list_id = ? ORDER BY url",
        (list_id,),
    )
    return tuple(
        ImportedOutline(
            url=url,
            outcome=outcome,
            feed_id=feed_id,
            reason=reason,
            detail=detail,
            at=instant(at),
            digest=digest,
        )
        for url, outcome, feed_id, reason, detail, at, digest in rows
    )


def note_imported(
    connection: sqlite3.Connection, list_id: str, items: Sequence[ImportedOutline]
) -> None:
    """Remember what became of these outlines; the last word on an address counts."""
    connection.executemany(
        "INSERT OR REPLACE INTO import_outlines VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                list_id,
                one.url,
                one.outcome,
                one.feed_id,
                one.reason,
                one.detail,
                micros(one.at),
                one.digest,
            )
            for one in items
        ],
    )
