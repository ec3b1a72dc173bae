"""Table `merged_feeds`: merges by hand that can still be undone.

Nothing of the feed is changed but its addresses, which lead to the other feed, and its schedule, which is paused;
so to undo is to give both back. Until then the other feed has its tags too: lists by tag go on to have its entries. `merge_feeds` makes it final.
"""
# Tested in tests/contracts/store/test_merged_feeds.py

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.statements import Query, append_events, column, each_of, row, write
from feedmill.adapters.store.tables.codec import RowCodec, json_text, micros, strings
from feedmill.adapters.store.tables.subscriptions.feeds import pause_schedule, retag
from feedmill.model.event import NewEvent
from feedmill.model.feed import MergedFeed

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
