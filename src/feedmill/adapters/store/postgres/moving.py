"""Changes of address as rows: the move, the way back, and what is known of a candidate (D6).

A move touches two lanes and a feed: they are held in that order, as everywhere, so that a claim or a
refresh that works on either waits instead of meeting half a move.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres import event_log
from feedmill.adapters.store.postgres.claim_planner import Pacing
from feedmill.adapters.store.postgres.lanes import hasten
from feedmill.adapters.store.postgres.pool import Connection, digest
from feedmill.adapters.store.postgres.subscriptions import add_aliases, relocate
from feedmill.adapters.store.postgres.text_sanitising import cleansed, storable
from feedmill.adapters.store.sqlite.claims import lane_key_of
from feedmill.adapters.store.tables.codec import json_text, micros, micros_or_none
from feedmill.adapters.store.tables.moves import MOVE_COLUMNS, SOON, move_of, move_row
from feedmill.model.event import NewEvent
from feedmill.model.feed import Move, MoveCandidate

_LOCK_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE host = $1 OR lane_id = (SELECT s.lane_id FROM feed_sched s"
    " JOIN feeds f ON f.feed_no = s.feed_no WHERE f.id = $2) ORDER BY lane_id FOR NO KEY UPDATE"
)
# Validators vouch for what one address serves; those of the new one are kept (a redirect led there).
_ARRIVE: Final = (
    "UPDATE feeds SET move = NULL,"
    " etag = CASE WHEN validators_url = $1 THEN etag END,"
    " last_modified = CASE WHEN validators_url = $1 THEN last_modified END,"
    " vary = CASE WHEN validators_url = $1 THEN vary END,"
    " validators_url = CASE WHEN validators_url = $1 THEN validators_url END WHERE feed_no = $2"
)
_WAKE: Final = (
    "UPDATE feed_sched s SET next_run_at = least(s.next_run_at, $1) FROM feeds f"
    " WHERE s.feed_no = $2 AND f.feed_no = s.feed_no AND f.health <> 'active'"
    " RETURNING s.lane_id, s.next_run_at, s.paused"
)


async def moves(connection: Connection, feed_id: str) -> tuple[Move, ...]:
    """Every change of address of the feed, the oldest first."""
    rows = await connection.fetch(
        f"SELECT {MOVE_COLUMNS} FROM feed_moves WHERE feed_no ="
        " (SELECT feed_no FROM feeds WHERE id = $1) ORDER BY move_id",
        feed_id,
    )
    return tuple(move_of(tuple(row)) for row in rows)


async def move_feed(
    connection: Connection, feed_id: str, move: Move, events: Sequence[NewEvent], pacing: Pacing
) -> bool:
    """Let the feed live at `move.to_url`; False when it is not where the move begins, or when the
    address belongs to another feed: then nothing is written.
    """
    feed_no = await _resident(connection, feed_id, move.from_url, move.to_url)
    if feed_no is None or not await _settle(connection, feed_no, move.to_url, pacing):
        return False
    await connection.execute(
        f"INSERT INTO feed_moves (feed_no, {MOVE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        feed_no,
        *move_row(cleansed(move)),
    )
    await _wake(connection, feed_no, move.moved_at)
    await event_log.append(connection, events, f"feed/{feed_id}/moved/{micros(move.moved_at)}")
    return True


async def undo_move(
    connection: Connection, feed_id: str, move: Move, events: Sequence[NewEvent], pacing: Pacing
) -> bool:
    """Let the feed live at `move.from_url` again; `move.undone_at` says since when.

    False when it does not live at `move.to_url` any more.
    """
    feed_no = await _resident(connection, feed_id, move.to_url, move.from_url)
    at = move.undone_at
    if feed_no is None or at is None:
        return False
    if not await _settle(connection, feed_no, move.from_url, pacing):
        return False
    await connection.execute(
        "UPDATE feed_moves SET undone_at = $1"
        " WHERE feed_no = $2 AND from_url = $3 AND to_url = $4 AND moved_at = $5",
        micros(at),
        feed_no,
        storable(move.from_url),
        storable(move.to_url),
        micros(move.moved_at),
    )
    await _wake(connection, feed_no, at)
    await event_log.append(connection, events, f"feed/{feed_id}/unmoved/{micros(at)}")
    return True


async def note_candidate(
    connection: Connection,
    feed_id: str,
    candidate: MoveCandidate | None,
    https_probed_at: datetime | None,
    events: Sequence[NewEvent],
) -> None:
    """Write what is known of where the feed may have moved to; nothing else of the feed changes."""
    await connection.execute(
        "UPDATE feeds SET move = $1, https_probed_at = $2 WHERE id = $3",
        None if candidate is None else json_text(cleansed(candidate)),
        micros_or_none(https_probed_at),
        feed_id,
    )
    if events:
        at = micros(events[0].occurred_at)
        await event_log.append(connection, events, f"feed/{feed_id}/candidate/{at}")


async def _resident(connection: Connection, feed_id: str, url: str, to_url: str) -> int | None:
    """The feed's short number, when it lives there; it and the lanes of both hosts are held."""
    await connection.execute(_LOCK_LANES, storable(lane_key_of(to_url)), feed_id)
    found: int | None = await connection.fetchval(
        "SELECT feed_no FROM feeds WHERE id = $1 AND url = $2 FOR UPDATE", feed_id, storable(url)
    )
    return found


async def _settle(connection: Connection, feed_no: int, to_url: str, pacing: Pacing) -> bool:
    """Take the address, unless it is another feed's, who may be taking it at this moment."""
    url = storable(to_url)
    await add_aliases(connection, feed_no, (url,))
    holder = await connection.fetchval(
        "SELECT feed_no FROM feed_aliases WHERE url_hash = $1 AND url = $2", digest(url), url
    )
    if holder != feed_no:
        return False
    await relocate(connection, feed_no, url, pacing)
    await connection.execute(_ARRIVE, url, feed_no)
    return True


async def _wake(connection: Connection, feed_no: int, now: datetime) -> None:
    """A feed that failed where it was is asked at its new address soon; it owes nothing there."""
    row = await connection.fetchrow(_WAKE, micros(now + SOON), feed_no)
    if row is not None and not row["paused"]:
        await hasten(connection, row["lane_id"], row["next_run_at"])
