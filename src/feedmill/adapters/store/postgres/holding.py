"""Rows of what is not an entry yet: collected documents, standing screens, held entries (001)."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import cleansed, storable
from feedmill.adapters.store.tables.codec import blob_row
from feedmill.adapters.store.tables.held_entries import (
    COLLECTED_COLUMNS,
    HELD_COLUMNS,
    NEW_HELD_COLUMNS,
    SCREEN_COLUMNS,
    collected_row,
    held_of,
    held_row,
    screen_of,
    screen_row,
)
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.live_screen import HeldEntry, Standing, StandingScreen
from feedmill.model.page import Page

_BLOB: Final = (
    'INSERT INTO blobs (sha256, segment, "offset", length, coding, raw_length, prefix_sha256)'
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (sha256) DO UPDATE SET length = blobs.length WHERE false"  # held, as in `commit`
)
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
INSERT INTO held_entries ({NEW_HELD_COLUMNS})
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[],
                     $7::text[], $8::bigint[], $9::text[], $10::text[])
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       dedupe_key = excluded.dedupe_key, content_hash = excluded.content_hash,
       fetch_id = excluded.fetch_id, body_sha256 = excluded.body_sha256,
       slice_offset = excluded.slice_offset, title = excluded.title,
       screening = coalesce(excluded.screening, held_entries.screening)"""
_HELD: Final = f"""
SELECT h.held_no, {HELD_COLUMNS}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > $1 AND ($2::text IS NULL OR f.id = $2)
 ORDER BY h.held_no LIMIT $3"""
_STANDING: Final = f"""
SELECT {SCREEN_COLUMNS}, NULL AS entry_uid, NULL AS content_hash FROM standing_screens
 UNION ALL
SELECT NULL, 0, NULL, NULL, NULL, NULL, NULL, entry_uid, content_hash FROM held_entries
 WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"""
_LAST: Final = 2**63 - 1


async def keep_collected(
    connection: Connection, document: CollectedDocument, blob: BlobRef
) -> None:
    """Index a document that a window was collected from."""
    await connection.execute(_BLOB, *blob_row(blob))
    await connection.execute(
        f"INSERT INTO collected_documents ({COLLECTED_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)",
        *collected_row(cleansed(document)),
    )


async def add_screen(connection: Connection, screen: StandingScreen) -> None:
    """Keep a standing screen."""
    await connection.execute(
        f"INSERT INTO standing_screens ({SCREEN_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        *screen_row(cleansed(screen)),
    )


async def screens(connection: Connection) -> tuple[StandingScreen, ...]:
    """Every standing screen, the oldest first."""
    rows = await connection.fetch(
        f"SELECT {SCREEN_COLUMNS} FROM standing_screens ORDER BY created_at, id"
    )
    return tuple(screen_of(tuple(row)) for row in rows)


async def remove_screen(connection: Connection, screen_id: str) -> bool:
    """Forget a standing screen; what it holds stays held."""
    gone = await connection.fetchval(
        "DELETE FROM standing_screens WHERE id = $1 RETURNING id", storable(screen_id)
    )
    return gone is not None


async def hold(connection: Connection, feed_no: int, held: Sequence[HeldEntry]) -> None:
    """Keep entries back."""
    rows = {one.entry_uid: held_row(feed_no, one) for one in cleansed(tuple(held))}
    if rows:
        await connection.execute(
            _HOLD, *(list(column) for column in zip(*rows.values(), strict=True))
        )


async def release(connection: Connection, feed_no: int, entry_uids: Sequence[str]) -> None:
    """Hold entries no longer: they are stored."""
    await connection.execute(
        "DELETE FROM held_entries WHERE feed_no = $1 AND entry_uid = ANY($2::text[])",
        feed_no,
        list(entry_uids),
    )


async def held(
    connection: Connection, feed_id: str | None, after: str | None, limit: int
) -> Page[HeldEntry]:
    """What waits for somebody's word, the oldest first."""
    since = min(int(after), _LAST) if after is not None and after.isdecimal() else 0
    rows = await connection.fetch(_HELD, since, feed_id, limit + 1)
    items = tuple(held_of(tuple(row[1:])) for row in rows[:limit])
    return Page(items=items, next=str(rows[limit - 1][0]) if len(rows) > limit else None)


async def standing(connection: Connection, feed_id: str) -> Standing:
    """Every screen, and what was ever held of a feed and not stored since, in one look."""
    rows = await connection.fetch(_STANDING, feed_id)
    found = [screen_of(tuple(row[:7])) for row in rows if row[7] is None]
    return Standing(
        screens=tuple(sorted(found, key=lambda screen: (screen.created_at, screen.id))),
        held={row[7]: row[8] for row in rows if row[7] is not None},
    )


async def drop_held(connection: Connection, entry_uids: Sequence[str]) -> int:
    """Note that nobody wants these; how many of them were waiting."""
    dropped = await connection.fetch(
        "WITH asked AS (SELECT held_no FROM held_entries"
        " WHERE entry_uid = ANY($1::text[]) AND dropped = 0 ORDER BY held_no FOR UPDATE)"
        " UPDATE held_entries h SET dropped = 1 FROM asked WHERE h.held_no = asked.held_no"
        " RETURNING h.held_no",
        [storable(uid) for uid in entry_uids],
    )
    return len(dropped)
