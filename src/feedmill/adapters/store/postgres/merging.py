"""Two feeds that are one, as rows: everything of one becomes the other's, in one transaction.

Entries that both have become one row, which was first seen when the earlier was and counts what
both counted; the id of the row that goes still leads to it. All other entries change their feed
and get keys under it, so that its next document finds them. Events stay in the log as they are.

Both lanes and both feeds are held from the first statement on, so that no refresh of either commits
in between; however many entries there are, the number of statements is the same.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres import event_log
from feedmill.adapters.store.postgres.folding import fold
from feedmill.adapters.store.postgres.identities import every_row
from feedmill.adapters.store.postgres.pool import Connection, digest
from feedmill.adapters.store.postgres.subscriptions import set_tags
from feedmill.adapters.store.postgres.text_sanitising import storable
from feedmill.adapters.store.tables.codec import json_text
from feedmill.adapters.store.tables.merge_feeds import (
    ENTRY_COLUMNS,
    SIDE_COLUMNS,
    Side,
    counted,
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

_LOCK_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE lane_id IN (SELECT s.lane_id FROM feed_sched s"
    " JOIN feeds f ON f.feed_no = s.feed_no WHERE f.id IN ($1, $2)) ORDER BY lane_id FOR NO KEY UPDATE"
)
_LOCK_FEEDS: Final = (
    f"SELECT {SIDE_COLUMNS} FROM feeds WHERE id IN ($1, $2) ORDER BY feed_no FOR UPDATE"
)
_FENCE: Final = (
    "UPDATE lanes SET epoch = epoch + 1 WHERE owner IS NOT NULL AND lane_id IN"
    " (SELECT lane_id FROM feed_sched WHERE feed_no = ANY($1::bigint[]))"
    " AND lane_id IS DISTINCT FROM $2"
)
# The rows in the loser's current document count for themselves from now on.
_LEAVE_DOCUMENT: Final = (
    "UPDATE entries SET in_document = 0, seen_count = seen_count + $1 - confirmation,"
    " last_seen = greatest(last_seen, $2) WHERE feed_no = $3 AND in_document = 1"
)
_ADD_KEYS: Final = """
INSERT INTO entry_identities (key_hash, key_type, key_value, entry_id)
SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING"""
_SET_HASHES: Final = (
    "UPDATE entries e SET item_hash = h.item_hash"
    " FROM unnest($1::text[], $2::bigint[]) AS h (item_hash, entry_id) WHERE e.entry_id = h.entry_id"
)
_COLLISIONS: Final = (
    "SELECT l.scheduled_at FROM fetches l JOIN fetches w ON w.scheduled_at = l.scheduled_at"
    " WHERE l.feed_no = $1 AND w.feed_no = $2 ORDER BY 1"
)
_POSTPONE_FETCHES: Final = (
    "UPDATE fetches x SET scheduled_at = n.at FROM unnest($1::bigint[], $2::bigint[]) AS n (was, at)"
    " WHERE x.feed_no = $3 AND x.scheduled_at = n.was"
)


async def merge_feeds(
    connection: Connection,
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
    sides = await _sides(connection, loser_id, winner_id)
    loser, winner = sides.get(loser_id), sides.get(winner_id)
    if loser is None or winner is None or loser_id == winner_id:
        return None
    nos = [loser.feed_no, winner.feed_no]
    await connection.execute(_FENCE, nos, None if lane is None else lane.id)
    await connection.execute(
        _LEAVE_DOCUMENT, loser.confirmations, loser.confirmed_at, loser.feed_no
    )
    folded, moved = await _merge_entries(connection, loser, winner, at)
    counts = MergeCounts(
        entries=moved,
        folded=folded,
        fetches=await _move_fetches(connection, loser.feed_no, winner.feed_no),
        aliases=await _move_rest(connection, loser, winner),
    )
    await connection.execute("DELETE FROM feeds WHERE feed_no = $1", loser.feed_no)
    told = [counted(event, counts) for event in events]
    await event_log.append(connection, told, f"feed/{loser_id}/merged/{winner_id}")
    return counts


async def _sides(connection: Connection, loser_id: str, winner_id: str) -> dict[str, Side]:
    """Both feeds, held with their lanes; fewer when one of them is not there."""
    await connection.execute(_LOCK_LANES, loser_id, winner_id)
    rows = await connection.fetch(_LOCK_FEEDS, loser_id, winner_id)
    return {side.id: side for side in (side_of(tuple(row)) for row in rows)}


async def _merge_entries(
    connection: Connection, loser: Side, winner: Side, at: datetime
) -> tuple[int, int]:
    """Fold what both have and hand over the rest; how many of each."""
    theirs = await every_row(connection, loser.feed_no)
    ours = await every_row(connection, winner.feed_no)
    pairs = pair_twins(
        ours,
        theirs,
        ignored_guids={*loser.ignored_guids, *winner.ignored_guids},
        ignored_links={*loser.ignored_links, *winner.ignored_links},
    )
    by_id = {row.entry_id: place_of(row) for row in (*theirs, *ours)}
    entries = await _entries(connection, [row.entry_id for row in theirs])
    for table in ("entries", "tombstones"):
        await connection.execute(
            f"UPDATE {table} SET feed_no = $1 WHERE feed_no = $2", winner.feed_no, loser.feed_no
        )
    folds = [gone_and_kept(by_id[given], by_id[kept]) for given, kept in pairs.items()]
    await fold(connection, folds, at)
    homes = {row.entry_id: row.entry_id for row in theirs}
    homes |= {gone.entry_id: kept.entry_id for gone, kept in folds if gone.entry_id in homes}
    await _rename(connection, theirs, homes, entries, loser, winner)
    return len(pairs), len(theirs) - len(pairs)


async def _entries(connection: Connection, ids: Sequence[int]) -> dict[int, Entry]:
    """What is stored of the entries, as far as it identifies them; nothing of expired ones."""
    rows = await connection.fetch(
        f"SELECT entry_id, {ENTRY_COLUMNS} FROM entries WHERE entry_id = ANY($1::bigint[])", ids
    )
    return {row[0]: entry_of(tuple(row[1:])) for row in rows}


async def _rename(
    connection: Connection,
    rows: Sequence[KnownEntry],
    homes: dict[int, int],
    entries: dict[int, Entry],
    loser: Side,
    winner: Side,
) -> None:
    """Register every row of the loser under the winner's name; a key that is taken stays there."""
    keys: list[tuple[bytes, str, str, int]] = []
    hashes: list[tuple[str, int]] = []
    for row in rows:
        entry, home = entries.get(row.entry_id), homes[row.entry_id]
        named = adopted_keys(
            row, entry, old_key=loser.feed_key, feed_key=winner.feed_key, feed_id=winner.id
        )
        values = [(key.type, storable(key.value)) for key in named]
        keys += [(digest(value), kind, value, home) for kind, value in values]
        if entry is not None and home == row.entry_id:
            hashes.append((item_hash(entry, row.guid, winner.feed_key), home))
    # In one order: whoever else registers these keys at the moment waits, and never in a circle.
    await connection.execute(_ADD_KEYS, *_columns(sorted(keys), 4))
    await connection.execute(_SET_HASHES, *_columns(hashes, 2))


async def _move_fetches(connection: Connection, loser: int, winner: int) -> int:
    """Hand over the fetches; where both were asked at one instant, the loser's is a moment later."""
    collisions = [row[0] for row in await connection.fetch(_COLLISIONS, loser, winner)]
    if collisions:
        rows = await connection.fetch(
            "SELECT scheduled_at FROM fetches WHERE feed_no IN ($1, $2)", loser, winner
        )
        later = _moments_after(collisions, {row[0] for row in rows})
        await connection.execute(_POSTPONE_FETCHES, collisions, later, loser)
    moved = await connection.execute(
        "UPDATE fetches SET feed_no = $1 WHERE feed_no = $2", winner, loser
    )
    await connection.execute(
        "UPDATE header_blocks SET feed_no = $1 WHERE feed_no = $2", winner, loser
    )
    return _count(moved)


async def _move_rest(connection: Connection, loser: Side, winner: Side) -> int:
    """Addresses, history, tags and imports; how many addresses. The winner keeps its title."""
    tags = tuple(dict.fromkeys((*winner.tags, *loser.tags)))
    await connection.execute(
        "UPDATE feeds SET tags = $1, title ="
        " coalesce(title, (SELECT title FROM feeds WHERE feed_no = $2)) WHERE feed_no = $3",
        json_text(tags),
        loser.feed_no,
        winner.feed_no,
    )
    await set_tags(connection, winner.feed_no, tags)
    ends = (winner.feed_no, loser.feed_no)
    await connection.execute("UPDATE feed_moves SET feed_no = $1 WHERE feed_no = $2", *ends)
    # What waits stays waiting; what waits in both feeds waits once.
    await connection.execute(
        "UPDATE held_entries h SET feed_no = $1 WHERE feed_no = $2 AND NOT EXISTS"
        " (SELECT 1 FROM held_entries w WHERE w.feed_no = $1 AND w.entry_uid = h.entry_uid)",
        *ends,
    )
    # Who asked for the one hears of the other.
    for table in ("import_outlines", "webhooks", "standing_screens"):
        await connection.execute(
            f"UPDATE {table} SET feed_id = $1 WHERE feed_id = $2", winner.id, loser.id
        )
    return _count(
        await connection.execute("UPDATE feed_aliases SET feed_no = $1 WHERE feed_no = $2", *ends)
    )


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as one array for each column."""
    return [[row[place] for row in rows] for place in range(width)]


def _moments_after(instants: Sequence[int], taken: set[int]) -> list[int]:
    """For each instant the first one after it that is free."""
    found: list[int] = []
    for instant in instants:
        at = instant
        while at in taken:
            at += 1
        taken.add(at)
        found.append(at)
    return found


def _count(status: str) -> int:
    """How many rows a command says it has changed."""
    return int(status.rpartition(" ")[2])
