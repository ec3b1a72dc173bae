"""What programs and people read, page by page.

A page is found by its key, never by counting rows, so the thousandth costs what the first does.
Cursors are opaque to callers: an entry's `first_seen.entry_id` (for feeds with its publication
between the two), a fetch's `scheduled_at`, a feed's number.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import sqlite3
from typing import Any, Final

from feedmill.adapters.store.sqlite.subscriptions import FROM_FEEDS
from feedmill.adapters.store.tables.codec import (
    NEVER,
    blob_of,
    event_of,
    feed_of,
    json_text,
    micros,
)
from feedmill.adapters.store.tables.decision_codec import decision_of
from feedmill.adapters.store.tables.entry_codec import (
    STORED_COLUMNS,
    STORED_JSON,
    revision_of,
    stored_of,
)
from feedmill.adapters.store.tables.fetch_codec import FETCH_SELECT, fetch_of
from feedmill.adapters.store.tables.paging import (
    ARTICLES,
    ENTRY_ORDERS,
    REVISIONS,
    article_of,
    article_position,
    begins_word,
    page_between,
    page_of,
    position,
)
from feedmill.model.event import Event, Revision, StoredArticle, StoredEntry
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
    "events": "outbox",
    "blobs": "blobs",
}
_FROM_ENTRIES: Final = "FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
_ENTRIES: Final = f"SELECT {STORED_COLUMNS}, e.entry_id {_FROM_ENTRIES}"


def feed(connection: sqlite3.Connection, feed_id: str) -> Feed | None:
    """The feed of that id."""
    row = connection.execute(f"{FROM_FEEDS} WHERE f.id = ?", (feed_id,)).fetchone()
    return None if row is None else feed_of(row)


def feeds(
    connection: sqlite3.Connection, tag: str | None, after: str | None, limit: int
) -> Page[Feed]:
    """Feeds in the order in which they were added."""
    (last,) = position(after, 1) or (0,)
    tagged = "" if tag is None else "JOIN feed_tags t ON t.feed_no = f.feed_no AND t.tag = ?"
    select = FROM_FEEDS.replace("SELECT ", "SELECT f.feed_no, ", 1)
    rows = connection.execute(
        f"{select} {tagged} WHERE f.feed_no > ? ORDER BY f.feed_no LIMIT ?",
        (*(() if tag is None else (tag,)), last, limit + 1),
    ).fetchall()
    return page_of(rows, limit, lambda row: feed_of(row[1:]), lambda row: f"{row[0]}")


def aliases(connection: sqlite3.Connection, feed_id: str) -> tuple[str, ...]:
    """Every address of the feed."""
    rows = connection.execute(
        "SELECT a.url FROM feed_aliases a JOIN feeds f ON f.feed_no = a.feed_no"
        " WHERE f.id = ? ORDER BY a.url",
        (feed_id,),
    )
    return tuple(url for (url,) in rows)


def entries(
    connection: sqlite3.Connection,
    where: EntryFilter,
    after: str | None,
    limit: int,
    before: str | None = None,
) -> Page[StoredEntry]:
    """Entries that the filter lets through, the last that came in first.

    Nothing comes in behind a cursor: what a page holds only ever becomes less. `before` reads
    towards the present, and hands the page over in the same order.
    """
    _, places = ENTRY_ORDERS[where.newest_first]
    rows = _entry_rows(connection, _ENTRIES, where, after, limit, before)

    def cursor_of(row: tuple[Any, ...]) -> str:
        return ".".join(str(row[place]) for place in places)

    return page_between(
        rows, limit, lambda row: stored_of(row[:-1]), cursor_of, after=after, before=before
    )


def entry_texts(
    connection: sqlite3.Connection, where: EntryFilter, after: str | None, limit: int
) -> Page[bytes]:
    """The same as JSON: no value is made of a row only to be written again."""
    keys, _ = ENTRY_ORDERS[where.newest_first]
    select = f"SELECT {STORED_JSON}, {', '.join(keys)} {_FROM_ENTRIES}"
    rows = _entry_rows(connection, select, where, after, limit)
    return page_of(rows, limit, lambda row: row[0], lambda row: ".".join(map(str, row[1:])))


def entry(connection: sqlite3.Connection, entry_uid: str) -> StoredEntry | None:
    """The entry of that public id; None also when retention took it."""
    row = connection.execute(
        f"{_ENTRIES} WHERE e.entry_uid = ?", (_present_uid(connection, entry_uid),)
    ).fetchone()
    return None if row is None else stored_of(row[:-1])


def revisions(connection: sqlite3.Connection, entry_uid: str) -> tuple[Revision, ...]:
    """Earlier states of an entry, the oldest first."""
    rows = connection.execute(
        f"{REVISIONS} WHERE e.entry_uid = ? ORDER BY r.number",
        (_present_uid(connection, entry_uid),),
    )
    return tuple(revision_of(row) for row in rows)


def article_page(
    connection: sqlite3.Connection, after: str | None, limit: int
) -> Page[StoredArticle]:
    """Articles with the entry that brought each, the last that came in first."""
    entry_id, digest = article_position(after)
    rows = connection.execute(
        f"{ARTICLES} WHERE (a.entry_id, a.article_hash) < (?, ?)"
        " ORDER BY a.entry_id DESC, a.article_hash DESC LIMIT ?",
        (entry_id, digest, limit + 1),
    ).fetchall()
    return page_of(rows, limit, article_of, lambda row: f"{row[0]}.{row[1]}")


def fetches(
    connection: sqlite3.Connection, feed_id: str, after: str | None, limit: int
) -> Page[FetchRecord]:
    """Fetches of a feed, the newest run first."""
    (scheduled_at,) = position(after, 1) or (NEVER,)
    select = FETCH_SELECT.replace("SELECT ", "SELECT x.scheduled_at, ", 1)
    rows = connection.execute(
        f"{select} WHERE x.feed_no = (SELECT feed_no FROM feeds WHERE id = ?)"
        " AND x.scheduled_at < ? ORDER BY x.scheduled_at DESC LIMIT ?",
        (feed_id, scheduled_at, limit + 1),
    ).fetchall()
    return page_of(rows, limit, lambda row: fetch_of(row[1:]), lambda row: f"{row[0]}")


def fetch(connection: sqlite3.Connection, fetch_id: str) -> FetchRecord | None:
    """The fetch of that id."""
    row = connection.execute(f"{FETCH_SELECT} WHERE x.fetch_id = ?", (fetch_id,)).fetchone()
    return None if row is None else fetch_of(row)


def decisions(connection: sqlite3.Connection, feed_id: str, limit: int) -> tuple[Decision, ...]:
    """Why the feed is polled as it is, the newest decision first (D23)."""
    rows = connection.execute(
        "SELECT decision FROM schedule_decisions"
        " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = ?)"
        " ORDER BY scheduled_at DESC LIMIT ?",
        (feed_id, limit),
    )
    return tuple(decision_of(feed_id, text) for (text,) in rows)


def events(connection: sqlite3.Connection, after: int, limit: int) -> tuple[Event, ...]:
    """Events after a number, in order."""
    rows = connection.execute(
        "SELECT * FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
    )
    return tuple(event_of(row) for row in rows)


def cursor(connection: sqlite3.Connection, consumer: str) -> int:
    """How far a consumer has read, 0 before it began."""
    row = connection.execute(
        "SELECT seq FROM consumer_cursors WHERE consumer = ?", (consumer,)
    ).fetchone()
    return 0 if row is None else int(row[0])


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows there are of each kind."""
    found = {}
    for name, table in _TABLES.items():
        (found[name],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    (found["paused"],) = connection.execute(
        "SELECT count(*) FROM feeds WHERE paused = 1"
    ).fetchone()
    return found


def blob(connection: sqlite3.Connection, sha256: str) -> BlobRef | None:
    """Where a body lies."""
    row = connection.execute("SELECT * FROM blobs WHERE sha256 = ?", (sha256,)).fetchone()
    return None if row is None else blob_of(row)


def blobs(connection: sqlite3.Connection, segment: str | None) -> tuple[BlobRef, ...]:
    """Where all bodies lie, or those of one segment, in the order of the bytes."""
    chosen = "" if segment is None else "WHERE segment = ?"
    rows = connection.execute(
        f"SELECT * FROM blobs {chosen} ORDER BY segment, offset",
        () if segment is None else (segment,),
    )
    return tuple(blob_of(row) for row in rows)


def _entry_rows(
    connection: sqlite3.Connection,
    select: str,
    where: EntryFilter,
    after: str | None,
    limit: int,
    before: str | None = None,
) -> list[tuple[Any, ...]]:
    """Rows on one side of a cursor, and one more than asked for."""
    keys, _ = ENTRY_ORDERS[where.newest_first]
    start = position(after if before is None else before, len(keys)) or (NEVER,) * len(keys)
    sign, direction = ("<", "DESC") if before is None else (">", "ASC")
    clauses, parameters = _conditions(where)
    clauses.append(f"({', '.join(keys)}) {sign} ({', '.join('?' * len(keys))})")
    order = ", ".join(f"{key} {direction}" for key in keys)
    statement = f"{select} WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ?"
    if where.text:
        connection.create_function("begins_word", 2, begins_word, deterministic=True)
    return connection.execute(statement, (*parameters, *start, limit + 1)).fetchall()


def _present_uid(connection: sqlite3.Connection, entry_uid: str) -> str:
    """The id of the entry that this one became when their feeds were merged; mostly itself."""
    row = connection.execute(
        "SELECT e.entry_uid FROM entry_aliases a JOIN entries e ON e.entry_id = a.entry_id"
        " WHERE a.entry_uid = ?",
        (entry_uid,),
    ).fetchone()
    return entry_uid if row is None else str(row[0])


def _conditions(where: EntryFilter) -> tuple[list[str], list[Any]]:
    """The filter as SQL; every clause has one parameter except the last."""
    pairs: list[tuple[str, Any]] = [
        ("e.feed_no = (SELECT feed_no FROM feeds WHERE id = ?)", where.feed_id),
        (
            "e.feed_no IN (SELECT feed_no FROM feeds WHERE id IN (SELECT value FROM json_each(?)))",
            None if where.feed_ids is None else json_text(where.feed_ids),
        ),
        ("e.feed_no IN (SELECT feed_no FROM feed_tags WHERE tag = ?)", where.tag),
        ("? IN (SELECT value FROM json_each(e.categories))", where.category),
        ("e.first_seen >= ?", None if where.since is None else micros(where.since)),
        ("e.first_seen < ?", None if where.until is None else micros(where.until)),
        ("begins_word(e.title, ?)", where.text or None),
    ]
    chosen = [pair for pair in pairs if pair[1] is not None]
    clauses = [clause for clause, _ in chosen]
    if not where.include_removed:
        clauses.append("e.removed_at IS NULL")
    return clauses, [value for _, value in chosen]
