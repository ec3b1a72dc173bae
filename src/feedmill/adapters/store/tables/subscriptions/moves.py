"""Table `feed_moves`: changes of address, the way back, and the candidate for the next one (D6).

A move touches two lanes and a feed: they are locked in that order, as everywhere, so that a claim or a
refresh that works on either waits instead of meeting half a move.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import RowCodec, json_text, micros
from feedmill.adapters.store.tables.lanes import hasten, lane_key_of
from feedmill.adapters.store.tables.subscriptions.feeds import add_aliases, alias_holder, relocate
from feedmill.model.event import NewEvent
from feedmill.model.feed import Move, MoveCandidate

_MOVE: Final = RowCodec(Move, "from_url to_url source proof moved_at undone_at", table="feed_moves")
# When a feed that failed is asked at its new address: not at once, for that was just asked for its
# proof.
_SOON: Final = timedelta(minutes=1)
# Of the feed and of the host that it moves to.
_LOCK_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE lane_key = $1 OR (host = $1 AND lane_key <> host)"
    " OR lane_id = (SELECT s.lane_id FROM feed_sched s"
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
    "UPDATE feed_sched SET next_run_at = @least(next_run_at, $1) WHERE feed_no = $2 AND EXISTS"
    " (SELECT 1 FROM feeds f WHERE f.feed_no = feed_sched.feed_no AND f.health <> 'active')"
    " RETURNING lane_id, next_run_at, paused"
)


def moves(feed_id: str) -> Query[tuple[Move, ...]]:
    """Every change of address of the feed, the oldest first."""
    return sql.each_of(
        _MOVE.value,
        f"SELECT {_MOVE.names()} FROM feed_moves WHERE feed_no ="
        " (SELECT feed_no FROM feeds WHERE id = $1) ORDER BY move_id",
        feed_id,
    )


def move_feed(feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> Query[bool]:
    """Change the feed's address to `move.to_url`.

    False when the feed is not at `move.from_url`, or when the address belongs to another feed: then
    nothing is written.
    """
    feed_no = yield from _resident(feed_id, move.from_url, move.to_url)
    if feed_no is None or not (yield from _settle(feed_no, move.to_url)):
        return False
    yield from sql.write(
        sql.insert_into("feed_moves", ("feed_no", *_MOVE.columns)), feed_no, *_MOVE.row(move)
    )
    yield from _wake(feed_no, move.moved_at)
    yield from sql.append_events(events, f"feed/{feed_id}/moved/{micros(move.moved_at)}")
    return True


def undo_move(feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> Query[bool]:
    """Change the feed's address back to `move.from_url`; `move.undone_at` says since when.

    False when the feed is not at `move.to_url` any more.
    """
    feed_no = yield from _resident(feed_id, move.to_url, move.from_url)
    at = move.undone_at
    if feed_no is None or at is None or not (yield from _settle(feed_no, move.from_url)):
        return False
    yield from sql.write(
        "UPDATE feed_moves SET undone_at = $1"
        " WHERE feed_no = $2 AND from_url = $3 AND to_url = $4 AND moved_at = $5",
        at,
        feed_no,
        move.from_url,
        move.to_url,
        move.moved_at,
    )
    yield from _wake(feed_no, at)
    yield from sql.append_events(events, f"feed/{feed_id}/unmoved/{micros(at)}")
    return True


def save_move_candidate(
    feed_id: str,
    candidate: MoveCandidate | None,
    *,
    https_probed_at: datetime | None,
    events: Sequence[NewEvent] = (),
) -> Query[None]:
    """Store where the feed may have moved to; nothing else of the feed changes."""
    kept = yield from sql.storable(candidate)
    yield from sql.write(
        "UPDATE feeds SET move = $1, https_probed_at = $2 WHERE id = $3",
        None if kept is None else json_text(kept),
        https_probed_at,
        feed_id,
    )
    if events:
        at = micros(events[0].occurred_at)
        yield from sql.append_events(events, f"feed/{feed_id}/candidate/{at}")


def _resident(feed_id: str, url: str, to_url: str) -> Query[int | None]:
    """The feed's number when this is its address; it and the lanes of both hosts are locked."""
    yield from sql.lock(_LOCK_LANES, lane_key_of(to_url), feed_id)
    found: int | None = yield from sql.value(
        "SELECT feed_no FROM feeds WHERE id = $1 AND url = $2 @lock(FOR UPDATE)", feed_id, url
    )
    return found


def _settle(feed_no: int, to_url: str) -> Query[bool]:
    """Take the address, unless another feed has it or is taking it at this moment."""
    url = yield from sql.storable(to_url)
    yield from add_aliases(feed_no, (url,))
    if (yield from alias_holder(url)) != feed_no:
        return False
    yield from relocate(feed_no, url)
    yield from sql.write(_ARRIVE, url, feed_no)
    return True


def _wake(feed_no: int, now: datetime) -> Query[None]:
    """Poll a feed that failed at its old address soon at the new one, where it has no failures."""
    found = yield from sql.row(_WAKE, now + _SOON, feed_no)
    if found is not None and not found[2]:
        yield from hasten(found[0], found[1])
