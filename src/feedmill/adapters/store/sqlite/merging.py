"""Two feeds that are one, as rows: everything of one becomes the other's, in one transaction.

Entries that both have become one row, which was first seen when the earlier was and counts what
both counted; the id of the row that goes still leads to it. All other entries change their feed
and get keys under it, so that its next document finds them. Events stay in the log as they are.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.sqlite import event_log
from feedmill.adapters.store.sqlite.identities import every_row
from feedmill.adapters.store.sqlite.subscriptions import set_tags
from feedmill.adapters.store.tables.codec import json_text, micros
from feedmill.adapters.store.tables.merge_feeds import (
    ENTRY_COLUMNS,
    REVISION_COLUMNS,
    SIDE_COLUMNS,
    STATE_COLUMNS,
    Place,
    Side,
    counted,
    differences,
    entry_of,
    gone_and_kept,
    place_of,
    side_of,
)
from feedmill.identify.hashes import item_hash
from feedmill.identify.merge_feeds import adopted_keys, pair_twins
from feedmill.model.entry import Entry
from feedmill.model.event import NewEvent
from feedmill.model.feed import Lane, MergeCounts
from feedmill.model.identity import KnownEntry

# The rows in the loser's current document count for themselves from now on.
_LEAVE_DOCUMENT: Final = (
    "UPDATE entries SET in_document = 0, seen_count = seen_count + ? - confirmation,"
    " last_seen = max(last_seen, ?) WHERE feed_no = ? AND in_document = 1"
)


def merge_feeds(
    connection: sqlite3.Connection,
    loser_id: str,
    winner_id: str,
    at: datetime,
    events: Sequence[NewEvent],
    lane: Lane | None,
) -> MergeCounts | None:
    """Give everything of the loser to the winner; None when one of them is not there.

    The counts join the data of every `feed.merged` event. Refreshes under way that have read
    entries of either feed under another lane than the caller's are fenced off: what they decided
    does not fit any more.
    """
    loser, winner = _side(connection, loser_id), _side(connection, winner_id)
    if loser is None or winner is None or loser_id == winner_id:
        return None
    _fence(connection, (loser, winner), lane)
    connection.execute(_LEAVE_DOCUMENT, (loser.confirmations, loser.confirmed_at, loser.feed_no))
    folded, moved = _merge_entries(connection, loser, winner, at)
    counts = MergeCounts(
        entries=moved,
        folded=folded,
        fetches=_move_fetches(connection, loser.feed_no, winner.feed_no),
        aliases=_move_rest(connection, loser, winner),
    )
    connection.execute("DELETE FROM feeds WHERE feed_no = ?", (loser.feed_no,))
    told = [counted(event, counts) for event in events]
    event_log.append(connection, told, f"feed/{loser_id}/merged/{winner_id}")
    return counts


def _side(connection: sqlite3.Connection, feed_id: str) -> Side | None:
    row = connection.execute(
        f"SELECT {SIDE_COLUMNS} FROM feeds WHERE id = ?", (feed_id,)
    ).fetchone()
    return None if row is None else side_of(row)


def _fence(connection: sqlite3.Connection, sides: Iterable[Side], lane: Lane | None) -> None:
    """Raise the epoch of both lanes, except of the one that the caller works itself."""
    rows = [(side.feed_no, None if lane is None else lane.id) for side in sides]
    connection.executemany(
        "UPDATE lanes SET epoch = epoch + 1 WHERE owner IS NOT NULL AND lane_id ="
        " (SELECT lane_id FROM feed_sched WHERE feed_no = ?) AND lane_id IS NOT ?",
        rows,
    )


def _merge_entries(
    connection: sqlite3.Connection, loser: Side, winner: Side, at: datetime
) -> tuple[int, int]:
    """Fold what both have and hand over the rest; how many of each."""
    theirs, ours = every_row(connection, loser.feed_no), every_row(connection, winner.feed_no)
    pairs = pair_twins(
        ours,
        theirs,
        ignored_guids={*loser.ignored_guids, *winner.ignored_guids},
        ignored_links={*loser.ignored_links, *winner.ignored_links},
    )
    by_id = {row.entry_id: row for row in ours}
    homes = {row.entry_id: row.entry_id for row in theirs}
    entries = {row.entry_id: _entry(connection, row) for row in theirs}
    for table in ("entries", "tombstones"):
        statement = f"UPDATE {table} SET feed_no = ? WHERE feed_no = ?"
        connection.execute(statement, (winner.feed_no, loser.feed_no))
    for row in theirs:
        twin = by_id.get(pairs.get(row.entry_id, 0))
        if twin is not None:
            homes[row.entry_id] = _fold(connection, place_of(row), place_of(twin), at)
    _rename(connection, theirs, homes, entries, loser, winner)
    return len(pairs), len(theirs) - len(pairs)


def _fold(connection: sqlite3.Connection, theirs: Place, ours: Place, at: datetime) -> int:
    """Make two rows one; the number of the one that stays: the winner's, if it is not expired."""
    gone, kept = gone_and_kept(theirs, ours)
    first_seen, last_seen, seen_count, revisions = connection.execute(
        f"SELECT first_seen, last_seen, seen_count, revisions FROM {gone.table} WHERE entry_id = ?",
        (gone.entry_id,),
    ).fetchone()
    if kept.is_living and gone.is_living:
        revisions = _join_revisions(connection, gone.entry_id, kept.entry_id, at)
    connection.execute(
        f"UPDATE {kept.table} SET first_seen = min(first_seen, ?), last_seen = max(last_seen, ?),"
        " seen_count = seen_count + ?, revisions = max(revisions, ?) WHERE entry_id = ?",
        (first_seen, last_seen, seen_count, revisions, kept.entry_id),
    )
    connection.execute(
        "UPDATE entries SET published_effective = first_seen"
        " WHERE entry_id = ? AND published_source = 'first_seen'",
        (kept.entry_id,),
    )
    for table in ("entry_identities", "articles", "entry_aliases"):
        connection.execute(
            f"UPDATE {table} SET entry_id = ? WHERE entry_id = ?", (kept.entry_id, gone.entry_id)
        )
    connection.execute(
        "UPDATE entries SET same_as = nullif(?, entry_id) WHERE same_as = ?",
        (kept.entry_id, gone.entry_id),
    )
    connection.execute(f"DELETE FROM {gone.table} WHERE entry_id = ?", (gone.entry_id,))
    connection.execute(
        "INSERT OR REPLACE INTO entry_aliases VALUES (?, ?)", (gone.entry_uid, kept.entry_id)
    )
    return kept.entry_id


def _join_revisions(connection: sqlite3.Connection, gone: int, kept: int, at: datetime) -> int:
    """Both histories in the order of time, numbered anew; how many there are.

    What the row that goes says otherwise than the one that stays becomes an earlier state too.
    """
    rows = connection.execute(
        f"SELECT {REVISION_COLUMNS} FROM entry_revisions WHERE entry_id IN (?, ?)", (gone, kept)
    ).fetchall()
    changed = _differences(connection, gone, kept)
    if changed:
        state = connection.execute(
            f"SELECT {STATE_COLUMNS} FROM entries WHERE entry_id = ?", (gone,)
        )
        rows.append((micros(at), json_text(changed), *state.fetchone()))
    rows.sort(key=lambda row: row[0])
    connection.execute("DELETE FROM entry_revisions WHERE entry_id IN (?, ?)", (gone, kept))
    connection.executemany(
        f"INSERT INTO entry_revisions (entry_id, number, {REVISION_COLUMNS})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(kept, number, *row) for number, row in enumerate(rows, start=1)],
    )
    return len(rows)


def _differences(connection: sqlite3.Connection, gone: int, kept: int) -> tuple[str, ...]:
    theirs, ours = (
        connection.execute(
            "SELECT field_digests, content_version FROM entries WHERE entry_id = ?", (entry_id,)
        ).fetchone()
        for entry_id in (gone, kept)
    )
    return differences(theirs, ours)


def _entry(connection: sqlite3.Connection, row: KnownEntry) -> Entry | None:
    """What is stored of an entry, as far as it identifies it; None for an expired one."""
    found = connection.execute(
        f"SELECT {ENTRY_COLUMNS} FROM entries WHERE entry_id = ?", (row.entry_id,)
    ).fetchone()
    return None if found is None else entry_of(found)


def _rename(
    connection: sqlite3.Connection,
    rows: Sequence[KnownEntry],
    homes: dict[int, int],
    entries: dict[int, Entry | None],
    loser: Side,
    winner: Side,
) -> None:
    """Register every row of the loser under the winner's name; a key that is taken stays there."""
    keys: list[tuple[str, str, int]] = []
    hashes: list[tuple[str, int]] = []
    for row in rows:
        entry, home = entries[row.entry_id], homes[row.entry_id]
        named = adopted_keys(
            row, entry, old_key=loser.feed_key, feed_key=winner.feed_key, feed_id=winner.id
        )
        keys += [(key.type, key.value, home) for key in named]
        if entry is not None and home == row.entry_id:
            hashes.append((item_hash(entry, row.guid, winner.feed_key), home))
    connection.executemany("INSERT OR IGNORE INTO entry_identities VALUES (?, ?, ?)", keys)
    connection.executemany("UPDATE entries SET item_hash = ? WHERE entry_id = ?", hashes)


def _move_fetches(connection: sqlite3.Connection, loser: int, winner: int) -> int:
    """Hand over the fetches; where both were asked at one instant, the loser's is a moment later."""
    taken = {
        at
        for (at,) in connection.execute(
            "SELECT scheduled_at FROM fetches WHERE feed_no = ?", (winner,)
        )
    }
    rows = connection.execute(
        "SELECT fetch_no, scheduled_at FROM fetches WHERE feed_no = ?", (loser,)
    ).fetchall()
    placed: list[tuple[int, int, int]] = []
    for fetch_no, scheduled_at in rows:
        at = scheduled_at
        while at in taken:
            at += 1
        taken.add(at)
        placed.append((winner, at, fetch_no))
    connection.executemany(
        "UPDATE fetches SET feed_no = ?, scheduled_at = ? WHERE fetch_no = ?", placed
    )
    connection.execute("UPDATE header_blocks SET feed_no = ? WHERE feed_no = ?", (winner, loser))
    return len(rows)


def _move_rest(connection: sqlite3.Connection, loser: Side, winner: Side) -> int:
    """Addresses, history, tags and imports; how many addresses. The winner keeps its title."""
    tags = tuple(dict.fromkeys((*winner.tags, *loser.tags)))
    connection.execute(
        "UPDATE feeds SET tags = ?, title ="
        " coalesce(title, (SELECT title FROM feeds WHERE feed_no = ?)) WHERE feed_no = ?",
        (json_text(tags), loser.feed_no, winner.feed_no),
    )
    set_tags(connection, winner.feed_no, tags)
    ends = (winner.feed_no, loser.feed_no)
    connection.execute("UPDATE feed_moves SET feed_no = ? WHERE feed_no = ?", ends)
    # What waits stays waiting; what waits in both feeds waits once.
    connection.execute("UPDATE OR IGNORE held_entries SET feed_no = ? WHERE feed_no = ?", ends)
    # Who asked for the one hears of the other.
    for table in ("import_outlines", "webhooks", "standing_screens"):
        connection.execute(
            f"UPDATE {table} SET feed_id = ? WHERE feed_id = ?", (winner.id, loser.id)
        )
    return connection.execute(
        "UPDATE feed_aliases SET feed_no = ? WHERE feed_no = ?", ends
    ).rowcount
