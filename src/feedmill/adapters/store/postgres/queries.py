"""What programs and people read, page by page; cursors are those of every store (`paging`)."""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Sequence
from typing import Any, Final

from msgspec import json

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import storable
from feedmill.adapters.store.postgres.title_search import Titles
from feedmill.adapters.store.tables.codec import FEED_COLUMNS, NEVER, Row, blob_of, feed_of, micros
from feedmill.adapters.store.tables.decision_codec import decision_of
from feedmill.adapters.store.tables.entry_codec import STORED_COLUMNS, revision_of, stored_of
from feedmill.adapters.store.tables.fetch_codec import FETCH_SELECT, fetch_of
from feedmill.adapters.store.tables.paging import (
    ARTICLES,
    ENTRY_ORDERS,
    REVISIONS,
    article_of,
    article_position,
    page_between,
    page_of,
    position,
)
from feedmill.model.event import Revision, StoredArticle, StoredEntry
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.page import EntryFilter, Page
from feedmill.model.schedule import Decision

_TABLES: Final = {
    "feeds": "feeds",
    "lanes": "lanes",
    "entries": "entries",
    "identities": "entry_identities",
    "tombstones": "tombstones",
    "articles": "articles",
    "revisions": "entry_revisions",
    "fetches": "fetches",
    "decisions": "schedule_decisions",
    "events": "(SELECT 1 FROM events UNION ALL SELECT 1 FROM outbox) AS told",
    "blobs": "blobs",
    "paused": "feeds WHERE paused = 1",
}
_COUNTS: Final = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM {table}) AS {name}" for name, table in _TABLES.items()
)
_FROM_FEEDS: Final = "FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"
_FROM_ENTRIES: Final = "FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
_ENTRIES: Final = f"SELECT {STORED_COLUMNS}, e.entry_id {_FROM_ENTRIES}"
_BLOBS: Final = (
    'SELECT sha256, segment, "offset", length, coding, raw_length, prefix_sha256 FROM blobs'
)
# The entry of a public id, or the one that it became when their feeds were merged.
_PRESENT_UID: Final = (
    "e.entry_uid = coalesce((SELECT p.entry_uid FROM entry_aliases a"
    " JOIN entries p ON p.entry_id = a.entry_id WHERE a.entry_uid = $1), $1)"
)
_PROPOSED: Final = 1_000  # titles that are looked at together
_FEED_NO: Final = "(SELECT feed_no FROM feeds WHERE id = $1)"


async def feed(connection: Connection, feed_id: str) -> Feed | None:
    """The feed of that id."""
    row = await connection.fetchrow(
        f"SELECT {FEED_COLUMNS} {_FROM_FEEDS} WHERE f.id = $1", storable(feed_id)
    )
    return None if row is None else feed_of(tuple(row))


async def feeds(
    connection: Connection, tag: str | None, after: str | None, limit: int
) -> Page[Feed]:
    """Feeds in the order in which they were added."""
    (last,) = position(after, 1) or (0,)
    tagged = "" if tag is None else "JOIN feed_tags t ON t.feed_no = f.feed_no AND t.tag = $3"
    rows = await connection.fetch(
        f"SELECT f.feed_no, {FEED_COLUMNS} {_FROM_FEEDS} {tagged}"
        " WHERE f.feed_no > $1 ORDER BY f.feed_no LIMIT $2",
        last,
        limit + 1,
        *(() if tag is None else (storable(tag),)),
    )
    return page_of(
        [tuple(row) for row in rows], limit, lambda row: feed_of(row[1:]), lambda row: f"{row[0]}"
    )


async def aliases(connection: Connection, feed_id: str) -> tuple[str, ...]:
    """Every address of the feed."""
    rows = await connection.fetch(
        f"SELECT url FROM feed_aliases WHERE feed_no = {_FEED_NO} ORDER BY url", storable(feed_id)
    )
    return tuple(row[0] for row in rows)


async def entries(
    connection: Connection,
    where: EntryFilter,
    after: str | None,
    limit: int,
    before: str | None = None,
) -> Page[StoredEntry]:
    """Entries that the filter lets through, the last that came in first.

    Nothing comes in behind a cursor: what a page holds only ever becomes less. `before` reads
    towards the present, and hands the page over in the same order.
    """
    rows = await _entry_rows(connection, where, after, limit, before)
    return page_between(
        rows,
        limit,
        lambda row: stored_of(row[:-1]),
        lambda row: _cursor_of(row, where),
        after=after,
        before=before,
    )


async def entry_texts(
    connection: Connection, where: EntryFilter, after: str | None, limit: int
) -> Page[bytes]:
    """The same as JSON."""
    rows = await _entry_rows(connection, where, after, limit)
    return page_of(
        rows,
        limit,
        lambda row: json.encode(stored_of(row[:-1])),
        lambda row: _cursor_of(row, where),
    )


async def entry(connection: Connection, entry_uid: str) -> StoredEntry | None:
    """The entry of that public id; None also when retention took it."""
    row = await connection.fetchrow(f"{_ENTRIES} WHERE {_PRESENT_UID}", storable(entry_uid))
    return None if row is None else stored_of(tuple(row)[:-1])


async def revisions(connection: Connection, entry_uid: str) -> tuple[Revision, ...]:
    """Earlier states of an entry, the oldest first."""
    rows = await connection.fetch(
        f"{REVISIONS} WHERE {_PRESENT_UID} ORDER BY r.number", storable(entry_uid)
    )
    return tuple(revision_of(tuple(row)) for row in rows)


async def article_page(
    connection: Connection, after: str | None, limit: int
) -> Page[StoredArticle]:
    """Articles with the entry that brought each, the last that came in first."""
    entry_id, digest = article_position(after)
    rows = await connection.fetch(
        f"{ARTICLES} WHERE (a.entry_id, a.article_hash) < ($1, $2)"
        " ORDER BY a.entry_id DESC, a.article_hash DESC LIMIT $3",
        entry_id,
        storable(digest),
        limit + 1,
    )
    return page_of(
        [tuple(row) for row in rows], limit, article_of, lambda row: f"{row[0]}.{row[1]}"
    )


async def fetches(
    connection: Connection, feed_id: str, after: str | None, limit: int
) -> Page[FetchRecord]:
    """Fetches of a feed, the newest run first."""
    (scheduled_at,) = position(after, 1) or (NEVER,)
    select = FETCH_SELECT.replace("SELECT ", "SELECT x.scheduled_at, ", 1)
    rows = await connection.fetch(
        f"{select} WHERE x.feed_no = {_FEED_NO}"
        " AND x.scheduled_at < $2 ORDER BY x.scheduled_at DESC LIMIT $3",
        storable(feed_id),
        scheduled_at,
        limit + 1,
    )
    return page_of(
        [tuple(row) for row in rows], limit, lambda row: fetch_of(row[1:]), lambda row: f"{row[0]}"
    )


async def fetch(connection: Connection, fetch_id: str) -> FetchRecord | None:
    """The fetch of that id."""
    row = await connection.fetchrow(f"{FETCH_SELECT} WHERE x.fetch_id = $1", storable(fetch_id))
    return None if row is None else fetch_of(tuple(row))


async def decisions(connection: Connection, feed_id: str, limit: int) -> tuple[Decision, ...]:
    """Why the feed is polled as it is, the newest decision first (D23)."""
    rows = await connection.fetch(
        f"SELECT decision FROM schedule_decisions WHERE feed_no = {_FEED_NO}"
        " ORDER BY scheduled_at DESC LIMIT $2",
        storable(feed_id),
        limit,
    )
    return tuple(decision_of(feed_id, row[0]) for row in rows)


async def counts(connection: Connection) -> dict[str, int]:
    """How many rows there are of each kind; events also before they have a number."""
    row = await connection.fetchrow(_COUNTS)
    return {} if row is None else dict(row.items())


async def blob(connection: Connection, sha256: str) -> BlobRef | None:
    """Where a body lies."""
    row = await connection.fetchrow(f"{_BLOBS} WHERE sha256 = $1", storable(sha256))
    return None if row is None else blob_of(tuple(row))


async def blobs(connection: Connection, segment: str | None) -> tuple[BlobRef, ...]:
    """Where all bodies lie, or those of one segment, in the order of the bytes."""
    chosen = "" if segment is None else "WHERE segment = $1"
    rows = await connection.fetch(
        f'{_BLOBS} {chosen} ORDER BY segment, "offset"',
        *(() if segment is None else (storable(segment),)),
    )
    return tuple(blob_of(tuple(row)) for row in rows)


async def _entry_rows(
    connection: Connection,
    where: EntryFilter,
    after: str | None,
    limit: int,
    before: str | None = None,
) -> list[Row]:
    """Rows on one side of a cursor, and one more than asked for."""
    keys, _ = ENTRY_ORDERS[where.newest_first]
    start = position(after if before is None else before, len(keys)) or (NEVER,) * len(keys)
    if not where.text:
        return await _beyond(connection, _ENTRIES, where, start, limit + 1, before is not None)
    ids = await _titled(connection, where, start, limit + 1, before is not None)
    direction = "DESC" if before is None else "ASC"
    order = ", ".join(f"{key} {direction}" for key in keys)
    rows = await connection.fetch(
        f"{_ENTRIES} WHERE e.entry_id = ANY($1::bigint[]) ORDER BY {order}", ids
    )
    return [tuple(row) for row in rows]


async def _titled(
    connection: Connection,
    where: EntryFilter,
    start: tuple[int, ...],
    wanted: int,
    forwards: bool,  # a direction, passed on
) -> list[int]:
    """The numbers of the first entries with a word that begins like that in their title.

    PostgreSQL proposes, by a rule that leaves nobody out; what counts is the rule of every store.
    """
    titles = Titles(where.text or "")
    keys, _ = ENTRY_ORDERS[where.newest_first]
    select = f"SELECT e.title, {', '.join(keys)} {_FROM_ENTRIES}"
    found: list[int] = []
    while True:
        bite = max(wanted, _PROPOSED)
        rows = await _beyond(connection, select, where, start, bite, forwards, titles)
        found += [row[-1] for row in rows if titles.match(row[0])]
        if len(rows) < bite or len(found) >= wanted:
            return found[:wanted]
        start = rows[-1][1:]


async def _beyond(
    connection: Connection,
    select: str,
    where: EntryFilter,
    start: tuple[int, ...],
    wanted: int,
    forwards: bool,  # a direction, passed on
    titles: Titles | None = None,
) -> list[Row]:
    keys, _ = ENTRY_ORDERS[where.newest_first]
    sign, direction = (">", "ASC") if forwards else ("<", "DESC")
    clauses, parameters = _conditions(where, titles)
    places = ", ".join(f"${len(parameters) + at}" for at in range(1, len(keys) + 1))
    clauses.append(f"({', '.join(keys)}) {sign} ({places})")
    order = ", ".join(f"{key} {direction}" for key in keys)
    rows = await connection.fetch(
        f"{select} WHERE {' AND '.join(clauses)} ORDER BY {order}"
        f" LIMIT ${len(parameters) + len(keys) + 1}",
        *parameters,
        *start,
        wanted,
    )
    return [tuple(row) for row in rows]


def _conditions(where: EntryFilter, titles: Titles | None) -> tuple[list[str], list[Any]]:
    """The filter as SQL, and its parameters."""
    feed_ids = None if where.feed_ids is None else [storable(one) for one in where.feed_ids]
    pairs: list[tuple[str, Any]] = [
        ("e.feed_no = (SELECT feed_no FROM feeds WHERE id = {})", _text(where.feed_id)),
        ("e.feed_no IN (SELECT feed_no FROM feeds WHERE id = ANY({}::text[]))", feed_ids),
        ("e.feed_no IN (SELECT feed_no FROM feed_tags WHERE tag = {})", _text(where.tag)),
        ("e.categories::jsonb ? {}", _text(where.category)),
        ("e.first_seen >= {}", None if where.since is None else micros(where.since)),
        ("e.first_seen < {}", None if where.until is None else micros(where.until)),
        *(() if titles is None else titles.conditions),
    ]
    chosen: Sequence[tuple[str, Any]] = [pair for pair in pairs if pair[1] is not None]
    clauses = [clause.format(f"${at}") for at, (clause, _) in enumerate(chosen, start=1)]
    if not where.include_removed:
        clauses.append("e.removed_at IS NULL")
    return clauses, [value for _, value in chosen]


def _text(value: str | None) -> str | None:
    return None if value is None else storable(value)


def _cursor_of(row: Row, where: EntryFilter) -> str:
    _, places = ENTRY_ORDERS[where.newest_first]
    return ".".join(str(row[place]) for place in places)
