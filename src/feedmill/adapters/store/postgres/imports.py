"""What became of the outlines of imported lists, so that an import that was cut short goes on."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Sequence

from feedmill.adapters.store.postgres.pool import Connection, digest
from feedmill.adapters.store.postgres.text_sanitising import cleansed
from feedmill.adapters.store.tables.imports import OUTLINE_COLUMNS, outline_of, outline_row
from feedmill.model.feed import ImportedOutline

_NOTE = f"""
INSERT INTO import_outlines (list_id, url_hash, {OUTLINE_COLUMNS})
SELECT $1, * FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                         $8::bigint[], $9::text[])
    ON CONFLICT (list_id, url_hash) DO UPDATE SET
       url = excluded.url, outcome = excluded.outcome, feed_id = excluded.feed_id,
       reason = excluded.reason, detail = excluded.detail, at = excluded.at,
       digest = excluded.digest"""


async def imported(connection: Connection, list_id: str) -> tuple[ImportedOutline, ...]:
    """The outlines of a list that were dealt with, in the order of their addresses."""
    rows = await connection.fetch(
        f'SELECT {OUTLINE_COLUMNS} FROM import_outlines WHERE list_id = $1 ORDER BY url COLLATE "C"',
        list_id,
    )
    return tuple(outline_of(tuple(row)) for row in rows)


async def note_imported(
    connection: Connection, list_id: str, items: Sequence[ImportedOutline]
) -> None:
    """Remember what became of these outlines; the last word on an address counts."""
    rows = {row[0]: row for row in (outline_row(one) for one in cleansed(tuple(items)))}
    if not rows:
        return
    # In one order, so that two that note the same list never wait for each other in a circle.
    hashed = sorted((digest(url), *row) for url, row in rows.items())
    await connection.execute(
        _NOTE, list_id, *(list(column) for column in zip(*hashed, strict=True))
    )
