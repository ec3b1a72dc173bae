"""What programs and people read, page by page.

A page is found by its key, never by counting rows, so the thousandth costs what the first does.
Cursors are opaque to callers: an entry's `first_seen.entry_id`, a fetch's `scheduled_at`, a feed's
number.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import re
import sqlite3
from collections.abc import Callable
from typing import Any, Final, TypeVar

from feedmill.adapters.store.decision_rows import decision_of
from feedmill.adapters.store.entry_rows import STORED_COLUMNS, revision_of, stored_of
from feedmill.adapters.store.fetch_rows import FETCH_SELECT, fetch_of
from feedmill.adapters.store.rows import NEVER, blob_of, event_of, feed_of, micros
from feedmill.adapters.store.subscriptions import FROM_FEEDS
from feedmill.engine.ports import EntryFilter, Page
from feedmill.errors import UsageError
from feedmill.model.event import Event, Revision, StoredEntry
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.schedule import Decision

T = TypeVar("T")

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
_ENTRIES: Final = (
    f"SELECT {STORED_COLUMNS}, e.entry_id FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
)


def feed(connection: sqlite3.Connection, feed_id: str) -> Feed | None:
    """The feed of that id."""
    row = connection.execute(f"{FROM_FEEDS} WHERE f.id = ?", (feed_id,)).fetchone()
    return None if row is None else feed_of(row)


def feeds(
    connection: sqlite3.Connection, tag: str | None, after: str | None, limit: int
) -> Page[Feed]:
    """Feeds in the order in which they were added."""
    (last,) = _position(after, 1) or (0,)
    tagged = "" if tag is None else "JOIN feed_tags t ON t.feed_no = f.feed_no AND t.tag = ?"
    select = FROM_FEEDS.replace("SELECT ", "SELECT f.feed_no, ", 1)
    rows = connection.execute(
        f"{select} {tagged} WHERE f.feed_no > ? ORDER BY f.feed_no LIMIT ?",
        (*(() if tag is None else (tag,)), last, limit + 1),
    ).fetchall()
    return _page(rows, limit, lambda row: feed_of(row[1:]), lambda row: f"{row[0]}")


def aliases(connection: sqlite3.Connection, feed_id: str) -> tuple[str, ...]:
    """Every address of the feed."""
    rows = connection.execute(
        "SELECT a.url FROM feed_aliases a JOIN feeds f ON f.feed_no = a.feed_no"
        " WHERE f.id = ? ORDER BY a.url",
        (feed_id,),
    )
    return tuple(url for (url,) in rows)


def entries(
    connection: sqlite3.Connection, where: EntryFilter, after: str | None, limit: int
) -> Page[StoredEntry]:
    """Entries that the filter lets through, the last that came in first."""
    first_seen, entry_id = _position(after, 2) or (NEVER, NEVER)
    clauses, parameters = _conditions(where)
    clauses.append("(e.first_seen, e.entry_id) < (?, ?)")
    statement = (
        f"{_ENTRIES} WHERE {' AND '.join(clauses)}"
        " ORDER BY e.first_seen DESC, e.entry_id DESC LIMIT ?"
    )
    if where.text:
        connection.create_function("begins_word", 2, _begins_word, deterministic=True)
    rows = connection.execute(statement, (*parameters, first_seen, entry_id, limit + 1)).fetchall()
    return _page(rows, limit, lambda row: stored_of(row[:-1]), lambda row: f"{row[2]}.{row[-1]}")


def entry(connection: sqlite3.Connection, entry_uid: str) -> StoredEntry | None:
    """The entry of that public id; None also when retention took it."""
    row = connection.execute(f"{_ENTRIES} WHERE e.entry_uid = ?", (entry_uid,)).fetchone()
    return None if row is None else stored_of(row[:-1])


def revisions(connection: sqlite3.Connection, entry_uid: str) -> tuple[Revision, ...]:
    """Earlier states of an entry, the oldest first."""
    rows = connection.execute(
        "SELECT e.entry_uid, r.number, r.replaced_at, r.changed, r.content_hash, r.title,"
        " r.summary, r.content, r.canonical_link, r.published, r.updated, r.fetch_id"
        " FROM entry_revisions r JOIN entries e ON e.entry_id = r.entry_id"
        " WHERE e.entry_uid = ? ORDER BY r.number",
        (entry_uid,),
    )
    return tuple(revision_of(row) for row in rows)


def fetches(
    connection: sqlite3.Connection, feed_id: str, after: str | None, limit: int
) -> Page[FetchRecord]:
    """Fetches of a feed, the newest run first."""
    (scheduled_at,) = _position(after, 1) or (NEVER,)
    select = FETCH_SELECT.replace("SELECT ", "SELECT x.scheduled_at, ", 1)
    rows = connection.execute(
        f"{select} WHERE x.feed_no = (SELECT feed_no FROM feeds WHERE id = ?)"
        " AND x.scheduled_at < ? ORDER BY x.scheduled_at DESC LIMIT ?",
        (feed_id, scheduled_at, limit + 1),
    ).fetchall()
    return _page(rows, limit, lambda row: fetch_of(row[1:]), lambda row: f"{row[0]}")


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


def _conditions(where: EntryFilter) -> tuple[list[str], list[Any]]:
    """The filter as SQL; every clause has one parameter except the last."""
    pairs: list[tuple[str, Any]] = [
        ("e.feed_no = (SELECT feed_no FROM feeds WHERE id = ?)", where.feed_id),
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


def _begins_word(title: str | None, text: str) -> bool:
    """True when a word of the title begins like that, whatever its case."""
    found = title is not None and re.search(rf"\b{re.escape(text.casefold())}", title.casefold())
    return bool(found)


def _page(
    rows: list[tuple[Any, ...]],
    limit: int,
    value_of: Callable[[tuple[Any, ...]], T],
    position_of: Callable[[tuple[Any, ...]], str],
) -> Page[T]:
    """The page; one row more than asked for says that there is another."""
    shown = rows[:limit]
    following = position_of(shown[-1]) if len(rows) > limit and shown else None
    return Page(items=tuple(value_of(row) for row in shown), next=following)


def _position(cursor: str | None, parts: int) -> tuple[int, ...] | None:
    if cursor is None:
        return None
    pieces = cursor.split(".")
    if len(pieces) != parts or not all(re.fullmatch(r"-?[0-9]{1,18}", one) for one in pieces):
        message = f"{cursor!r} is no cursor of this list; take the one that the last page gave"
        raise UsageError(message)
    return tuple(int(one) for one in pieces)
