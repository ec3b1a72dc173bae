"""Tables `feed_moves` and `merged_feeds`: changes of address, the way back, the candidate for the next one (D6), and merges by hand that can still be undone.

A move touches two lanes and a feed: they are locked in that order, as everywhere, so that a claim or a
refresh that works on either waits instead of meeting half a move.

Of a merged feed nothing is changed but its addresses, which lead to the other feed, and its schedule, which is paused;
so to undo is to give both back. Until then the other feed has its tags too: lists by tag go on to have its entries. `merge_feeds` makes it final.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, append_events, column, each_of, row, write
from feedmill.adapters.store.tables.codec import RowCodec, json_text, micros, strings
from feedmill.adapters.store.tables.lanes import hasten
from feedmill.adapters.store.tables.subscriptions.feeds import (
    add_aliases,
    alias_holder,
    pause_schedule,
    relocate,
    retag,
)
from feedmill.canonicalise.urls import host_key_of
from feedmill.model.event import NewEvent
from feedmill.model.feed import MergedFeed, Move, MoveCandidate

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

# For lists of feeds `f`.
NOT_MERGED: Final = "f.feed_no NOT IN (SELECT feed_no FROM merged_feeds)"
_MERGED: Final = RowCodec(
    MergedFeed, "feed_id url title into_id into_url merged_at", table="merged_feeds"
)
_SELECT: Final = (
    "SELECT f.id, f.url, f.title, w.id, w.url, m.merged_at FROM merged_feeds m"
    " JOIN feeds f ON f.feed_no = m.feed_no JOIN feeds w ON w.feed_no = m.into_no"
    " ORDER BY m.merged_at DESC, f.id"
)
_SIDES: Final = (
    "SELECT l.feed_no, w.feed_no, l.paused, w.tags, l.tags FROM feeds l, feeds w WHERE l.id = $1 AND w.id = $2"
    " AND l.id <> w.id AND NOT EXISTS"
    " (SELECT 1 FROM merged_feeds m WHERE m.feed_no IN (l.feed_no, w.feed_no))"
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
    yield from sql.lock(_LOCK_LANES, host_key_of(to_url), feed_id)
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


def hide_merged(
    feed_id: str, into_id: str, *, at: datetime, events: Sequence[NewEvent] = ()
) -> Query[bool]:
    """Merge the feed into another one so that it can be undone; False when one of them is not there."""
    sides = yield from row(_SIDES, feed_id, into_id)
    if sides is None:
        return False
    feed_no, into_no, paused, own, other = sides
    given = [tag for tag in strings(other) if tag not in strings(own)]
    urls = yield from column("SELECT url FROM feed_aliases WHERE feed_no = $1", feed_no)
    yield from write(
        "INSERT INTO merged_feeds (feed_no, into_no, merged_at, aliases, paused, given_tags)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        feed_no,
        into_no,
        at,
        json_text(urls),
        int(paused),
        json_text(given),
    )
    # What was merged into this one before leads to the same feed now.
    yield from write("UPDATE merged_feeds SET into_no = $1 WHERE into_no = $2", into_no, feed_no)
    yield from write("UPDATE feed_aliases SET feed_no = $1 WHERE feed_no = $2", into_no, feed_no)
    yield from retag(into_no, (*strings(own), *given))
    yield from _pause(feed_no, paused=True)
    yield from append_events(events, f"feed/{feed_id}/merged/{into_id}/{micros(at)}")
    return True


def show_merged(feed_id: str, events: Sequence[NewEvent] = ()) -> Query[bool]:
    """Undo a merge: the feed has its addresses and its schedule again; False when it is not merged."""
    found = yield from row(
        "SELECT m.feed_no, m.into_no, m.aliases, m.paused, m.given_tags, w.tags FROM merged_feeds m"
        " JOIN feeds f ON f.feed_no = m.feed_no JOIN feeds w ON w.feed_no = m.into_no WHERE f.id = $1",
        feed_id,
    )
    if found is None:
        return False
    feed_no, into_no, aliases, paused, given, tags = found
    for url in strings(aliases):
        yield from write(
            "UPDATE feed_aliases SET feed_no = $1 WHERE feed_no = $2 AND url = $3",
            feed_no,
            into_no,
            url,
        )
    yield from retag(into_no, [tag for tag in strings(tags) if tag not in strings(given)])
    yield from write("DELETE FROM merged_feeds WHERE feed_no = $1", feed_no)
    yield from _pause(feed_no, paused=bool(paused))
    if events:
        at = micros(events[0].occurred_at)
        yield from append_events(events, f"feed/{feed_id}/unmerged/{at}")
    return True


def merged_feeds() -> Query[tuple[MergedFeed, ...]]:
    """Feeds whose merge can be undone, the last one first."""
    return each_of(_MERGED.value, _SELECT)


def _pause(feed_no: int, *, paused: bool) -> Query[None]:
    yield from write("UPDATE feeds SET paused = $1 WHERE feed_no = $2", int(paused), feed_no)
    yield from pause_schedule(feed_no, paused=paused)
