"""Feeds as subscriptions: adding, changing, moving, removing, and when they are due."""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.sqlite import event_log
from feedmill.adapters.store.sqlite.claims import hasten, lane_of
from feedmill.adapters.store.sqlite.connection import PARAMETERS
from feedmill.adapters.store.tables.codec import (
    FEED_COLUMNS,
    STATE_COLUMNS,
    feed_of,
    feed_of_new,
    json_text,
    micros,
    overrides_text,
    state_row,
)
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, NewFeed

FROM_FEEDS: Final = f"SELECT {FEED_COLUMNS} FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"

_INSERT: Final = (
    "INSERT INTO feeds (id, url, feed_key, created_at, tags, overrides, paused,"
    f" {', '.join(STATE_COLUMNS)}) VALUES ({', '.join('?' * (7 + len(STATE_COLUMNS)))})"
)
_MAKE_DUE: Final = (
    "UPDATE feed_sched SET next_run_at = min(next_run_at, ?) WHERE paused = 0 AND feed_no IN"
)
_HASTEN_ALL: Final = (
    "UPDATE lanes SET claim_at = min(claim_at, max(?, coalesce(next_ok_at, 0)))"
    " WHERE owner IS NULL AND lane_id IN (SELECT lane_id FROM feed_sched"
    " WHERE paused = 0 AND next_run_at <= ?)"
)


def find_feed(connection: sqlite3.Connection, urls: Sequence[str]) -> Feed | None:
    """The feed that has one of the addresses, the first address first."""
    for url in urls:
        row = connection.execute(
            f"{FROM_FEEDS} JOIN feed_aliases a ON a.feed_no = f.feed_no WHERE a.url = ?", (url,)
        ).fetchone()
        if row is not None:
            return feed_of(row)
    return None


def add_feed(
    connection: sqlite3.Connection, new: NewFeed, events: Sequence[NewEvent], gap_ms: int
) -> tuple[Feed, bool]:
    """The feed, and whether it is new; known under any of its addresses, it only learns the rest."""
    urls = (new.url, *new.aliases)
    known = find_feed(connection, urls)
    if known is not None:
        add_aliases(connection, feed_no_of(connection, known.id) or 0, urls)
        return known, False
    feed = feed_of_new(new)
    row = (
        feed.id,
        feed.url,
        feed.feed_key,
        micros(feed.created_at),
        json_text(feed.tags),
        overrides_text(feed.overrides),
        int(feed.paused),
        *state_row(feed),
    )
    feed_no = connection.execute(_INSERT, row).lastrowid or 0
    lane_id, due_at = lane_of(connection, feed.url, gap_ms), micros(feed.next_poll_at)
    connection.execute(
        "INSERT INTO feed_sched (feed_no, lane_id, next_run_at, paused) VALUES (?, ?, ?, ?)",
        (feed_no, lane_id, due_at, int(_is_resting(feed))),
    )
    if not _is_resting(feed):
        hasten(connection, lane_id, due_at)
    set_tags(connection, feed_no, feed.tags)
    add_aliases(connection, feed_no, urls)
    event_log.append(connection, events, f"feed/{feed.id}/added")
    return feed, True


def change_feed(connection: sqlite3.Connection, feed: Feed, gap_ms: int) -> None:
    """Write what a subscriber decides: address, title, tags, pause, overrides, pending move.

    What polls carry on is left alone: a refresh may commit at the same time, and a pause must
    not undo what it learnt, nor it the pause.
    """
    feed_no = feed_no_of(connection, feed.id)
    if feed_no is None:
        return
    move = None if feed.move is None else json_text(feed.move)
    connection.execute(
        "UPDATE feeds SET title = ?, site_url = ?, tags = ?, paused = ?, overrides = ?, move = ?"
        " WHERE feed_no = ?",
        (
            feed.title,
            feed.site_url,
            json_text(feed.tags),
            int(feed.paused),
            overrides_text(feed.overrides),
            move,
            feed_no,
        ),
    )
    set_tags(connection, feed_no, feed.tags)
    relocate(connection, feed_no, feed.url, gap_ms)
    (lane_id, due_at) = connection.execute(
        "UPDATE feed_sched SET paused = ? WHERE feed_no = ? RETURNING lane_id, next_run_at",
        (int(_is_resting(feed)), feed_no),
    ).fetchone()
    if not _is_resting(feed):
        hasten(connection, lane_id, due_at)


def relocate(connection: sqlite3.Connection, feed_no: int, url: str, gap_ms: int) -> None:
    """Let the feed live at another address and keep the old one as an alias (D6).

    An address that belongs to another feed is left to it: two feeds never become one here.
    """
    holder = connection.execute("SELECT feed_no FROM feed_aliases WHERE url = ?", (url,)).fetchone()
    if holder is not None and holder[0] != feed_no:
        return
    changed = connection.execute(
        "UPDATE feeds SET url = ? WHERE feed_no = ? AND url <> ?", (url, feed_no, url)
    )
    if changed.rowcount == 0:
        return
    add_aliases(connection, feed_no, (url,))
    lane_id = lane_of(connection, url, gap_ms)
    ((due_at,),) = connection.execute(
        "UPDATE feed_sched SET lane_id = ? WHERE feed_no = ? RETURNING next_run_at",
        (lane_id, feed_no),
    ).fetchall()
    hasten(connection, lane_id, due_at)


def reschedule(
    connection: sqlite3.Connection, feed_no: int, next_poll_at: datetime, *, is_leased: bool
) -> None:
    """Write the next run; who holds the lane sees to its claim time at release."""
    due_at = micros(next_poll_at)
    connection.execute("UPDATE feed_sched SET next_run_at = ? WHERE feed_no = ?", (due_at, feed_no))
    if not is_leased:
        row = connection.execute("SELECT lane_id FROM feed_sched WHERE feed_no = ?", (feed_no,))
        hasten(connection, row.fetchone()[0], due_at)


def add_aliases(connection: sqlite3.Connection, feed_no: int, urls: Iterable[str]) -> None:
    """Register addresses of the feed; one that belongs to another feed stays there (D5)."""
    rows = [(url, feed_no) for url in urls]
    connection.executemany("INSERT OR IGNORE INTO feed_aliases VALUES (?, ?)", rows)


def make_due(connection: sqlite3.Connection, feed_ids: Sequence[str] | None, now: datetime) -> int:
    """Let feeds be polled now; how many of them are due. Paused feeds stay paused."""
    at, count = micros(now), 0
    if feed_ids is None:
        count = connection.execute(f"{_MAKE_DUE} (SELECT feed_no FROM feeds)", (at,)).rowcount
    else:
        for chunk in chunks(feed_ids):
            marks = ", ".join("?" * len(chunk))
            chosen = f"{_MAKE_DUE} (SELECT feed_no FROM feeds WHERE id IN ({marks}))"
            count += connection.execute(chosen, (at, *chunk)).rowcount
    connection.execute(_HASTEN_ALL, (at, at))
    return count


def remove_feed(connection: sqlite3.Connection, feed_id: str, events: Sequence[NewEvent]) -> bool:
    """Forget a feed with its entries and their identities; its events stay in the log."""
    feed_no = feed_no_of(connection, feed_id)
    if feed_no is None:
        return False
    for table in ("entries", "tombstones"):
        ids = f"(SELECT entry_id FROM {table} WHERE feed_no = ?)"
        for kept in ("entry_identities", "articles", "entry_aliases"):
            connection.execute(f"DELETE FROM {kept} WHERE entry_id IN {ids}", (feed_no,))
    connection.execute("DELETE FROM feeds WHERE feed_no = ?", (feed_no,))
    event_log.append(connection, events, f"feed/{feed_id}/removed")
    return True


def feed_no_of(connection: sqlite3.Connection, feed_id: str) -> int | None:
    """The feed's short number."""
    row = connection.execute("SELECT feed_no FROM feeds WHERE id = ?", (feed_id,)).fetchone()
    return None if row is None else int(row[0])


def chunks(values: Sequence[str]) -> Iterable[Sequence[str]]:
    """The values in pieces that one statement takes."""
    return (values[at : at + PARAMETERS] for at in range(0, len(values), PARAMETERS))


def _is_resting(feed: Feed) -> bool:
    """Whether the feed is never polled: somebody paused it, or its hub tells us everything."""
    return feed.paused or feed.overrides.push_only


def set_tags(connection: sqlite3.Connection, feed_no: int, tags: Sequence[str]) -> None:
    """Let the feed be found under these tags and no others."""
    connection.execute("DELETE FROM feed_tags WHERE feed_no = ?", (feed_no,))
    rows = [(tag, feed_no) for tag in dict.fromkeys(tags)]
    connection.executemany("INSERT INTO feed_tags VALUES (?, ?)", rows)
