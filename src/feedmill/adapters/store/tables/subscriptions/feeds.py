"""Tables `feeds`, `feed_aliases`, `feed_tags`, `feed_sched` and `import_outlines`: subscriptions and their addresses.

Two processes may add one feed under two spellings at once. The addresses decide: each is unique over all
feeds, and the second process waits for the first and finds that the feed is there. Lanes are locked
before feeds, everywhere.
"""
# Tested in tests/contracts/store/

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, page_of, position
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.lanes import hasten, lock_lanes
from feedmill.adapters.store.tables.running.jobs import delete_jobs_of_feed
from feedmill.adapters.store.tables.subscriptions.push import leave_feed
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, ImportedOutline, NewFeed, QuotaUse
from feedmill.model.page import Page

FEED_SELECT: Final = f"SELECT f.feed_no, {codec.FEED_COLUMNS} FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"
_INSERT: Final = (
    f"{sql.insert_into('feeds', (*codec.GIVEN_COLUMNS, *codec.STATE_COLUMNS))} RETURNING feed_no"
)
_IS_URL: Final = "a.@digest_or_text(url_hash, url) = @digest($1) AND a.url = $1"
_ADD_ALIAS: Final = (
    "INSERT INTO feed_aliases (@digest_and_text(url_hash, url), feed_no)"
    " VALUES (@digest_and_value($1), $2) ON CONFLICT DO NOTHING"
)
_CHOSEN: Final = "feed_no IN (SELECT feed_no FROM feeds WHERE id @in({}))"
_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE lane_id IN (SELECT lane_id FROM feed_sched{})"
    " ORDER BY lane_id @lock(FOR NO KEY UPDATE)"
)
_LANES_OF_ALL, _LANES_OF_CHOSEN = _LANES.format(""), _LANES.format(f" WHERE {_CHOSEN.format('$1')}")
_MAKE_ALL_DUE: Final = (
    "UPDATE feed_sched SET next_run_at = @least(next_run_at, $1) WHERE paused = 0"
)
_MAKE_CHOSEN_DUE: Final = f"{_MAKE_ALL_DUE} AND {_CHOSEN.format('$2')}"
_HASTEN_ALL: Final = (
    "UPDATE lanes SET claim_at = @greatest($1, coalesce(next_ok_at, 0))"
    " WHERE lane_id @in($2) AND owner IS NULL"
    " AND claim_at > @greatest($1, coalesce(next_ok_at, 0))"
    " AND EXISTS (SELECT 1 FROM feed_sched s"
    " WHERE s.lane_id = lanes.lane_id AND s.paused = 0 AND s.next_run_at <= $1)"
)
# A removed feed's tags are in its last event, a merged feed's are those of the feed that it became.
_TAGS: Final = """
SELECT 1 AS place, id, tags FROM feeds WHERE id @in($1)
 UNION ALL
SELECT 2, o.feed_id, @field(o.data, tags) FROM @all_events AS o
 WHERE o.type = 'feed.removed' AND o.feed_id @in($1)
 UNION ALL
SELECT 3, @field(o.data, from), f.tags FROM @all_events AS o JOIN feeds f ON f.id = o.feed_id
 WHERE o.type = 'feed.merged' AND @field(o.data, from) @in($1)
 ORDER BY 1"""

# An interrupted import continues after what was processed.
_OUTLINE: Final = codec.RowCodec(
    ImportedOutline, "url outcome feed_id reason detail at digest", table="import_outlines"
)
_RESULT_COLUMNS: Final = ("outcome", "feed_id", "reason", "detail", "at", "digest")
_KEEP_OUTLINE: Final = (
    f"INSERT INTO import_outlines (list_id, @digest_and_text(url_hash, url), {', '.join(_RESULT_COLUMNS)})"
    " VALUES ($1, @digest_and_value($2), $3, $4, $5, $6, $7, $8)"
    " ON CONFLICT (list_id, @digest_or_text(url_hash, url)) DO UPDATE SET"
    f" {sql.excluded(('url', *_RESULT_COLUMNS))}"
)


def feed(feed_id: str) -> Query[Feed | None]:
    """The feed of that id."""
    found = yield from sql.row(f"{FEED_SELECT} WHERE f.id = $1", feed_id)
    return None if found is None else codec.feed_of(found[1:])


def feeds(
    *, tag: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[Feed]]:
    """Feeds in the order in which they were added."""
    (last,) = position(after, 1) or (0,)
    tagged = "" if tag is None else "JOIN feed_tags t ON t.feed_no = f.feed_no AND t.tag = $3"
    found = yield from sql.rows(
        f"{FEED_SELECT} {tagged} WHERE f.feed_no > $1"
        " AND f.feed_no NOT IN (SELECT feed_no FROM merged_feeds) ORDER BY f.feed_no LIMIT $2",
        last,
        limit + 1,
        *(() if tag is None else (tag,)),
    )
    return page_of(found, limit, lambda one: codec.feed_of(one[1:]), lambda one: f"{one[0]}")


def find_feed(urls: Sequence[str]) -> Query[Feed | None]:
    """The feed that has one of the addresses, the first address first."""
    found = yield from _find(urls)
    return None if found is None else found[1]


def aliases(feed_id: str) -> Query[tuple[str, ...]]:
    """Every address of the feed."""
    found = yield from sql.column(
        "SELECT url FROM feed_aliases WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"
        " ORDER BY url",
        feed_id,
    )
    return tuple(found)


def feed_tags(feed_ids: Sequence[str]) -> Query[dict[str, tuple[str, ...]]]:
    """The tags of feeds, also of those that are gone; nothing for unknown ids."""
    found = yield from sql.rows(_TAGS, list(feed_ids))
    return {feed_id: codec.strings(tags) for _, feed_id, tags in found}


def add_feed(new: NewFeed, events: Sequence[NewEvent] = ()) -> Query[tuple[Feed, bool]]:
    """The feed, and whether it is new; a feed known under one of the addresses gets the others."""
    new = yield from sql.storable(new)
    urls = tuple(dict.fromkeys((new.url, *new.aliases)))
    while True:
        known = yield from _find(urls)
        if known is not None:
            yield from add_aliases(known[0], urls)
            return known[1], False
        added = codec.feed_of_new(new)
        if (yield from _insert(added, urls)):
            yield from sql.append_events(events, f"feed/{added.id}/added")
            return added, True


def change_feed(feed: Feed) -> Query[None]:
    """Store what a subscriber decides: address, title, tags, pause, overrides, pending move.

    What polls write is left alone: a refresh may commit at the same time, and a pause must not undo
    what it learnt, nor the refresh the pause.
    """
    feed = yield from sql.storable(feed)
    feed_no = yield from _lock_feed(feed.id)
    if feed_no is None:
        return
    yield from sql.write(
        "UPDATE feeds SET title = $2, site_url = $3, tags = $4, paused = $5, overrides = $6,"
        " move = $7 WHERE feed_no = $1",
        feed_no,
        feed.title,
        feed.site_url,
        codec.json_text(feed.tags),
        int(feed.paused),
        codec.overrides_text(feed.overrides),
        None if feed.move is None else codec.json_text(feed.move),
    )
    yield from set_tags(feed_no, feed.tags)
    yield from relocate(feed_no, feed.url)
    yield from pause_schedule(feed_no, paused=feed.paused)


def pause_schedule(feed_no: int, *, paused: bool) -> Query[None]:
    """Stop polling a feed, or go on with it; its lane becomes due when it is."""
    found = yield from sql.row(
        "UPDATE feed_sched SET paused = $2 WHERE feed_no = $1 RETURNING lane_id, next_run_at",
        feed_no,
        int(paused),
    )
    if found is not None and not paused:
        yield from hasten(*found)


def relocate(feed_no: int, url: str) -> Query[None]:
    """Change the feed's address and keep the old one as an alias (D6).

    An address that belongs to another feed stays there: two feeds never become one here.
    """
    url = yield from sql.storable(url)
    found = yield from sql.row("SELECT id, url FROM feeds WHERE feed_no = $1", feed_no)
    if found is None or found[1] == url:
        return
    yield from add_aliases(feed_no, (url,))
    if (yield from alias_holder(url)) != feed_no:
        return
    yield from sql.write("UPDATE feeds SET url = $2 WHERE feed_no = $1", feed_no, url)
    lane_id = yield from sql.lane_of(url, found[0])
    moved = yield from sql.row(
        "UPDATE feed_sched SET lane_id = $2 WHERE feed_no = $1 AND lane_id <> $2"
        " RETURNING next_run_at, paused",
        feed_no,
        lane_id,
    )
    if moved is not None and not moved[1]:
        yield from hasten(lane_id, moved[0])


def add_aliases(feed_no: int, urls: Iterable[str]) -> Query[None]:
    """Register addresses of the feed; one that belongs to another feed stays there (D5).

    A transaction that is registering one of them is waited for; in one order, so never in a circle.
    """
    texts = yield from sql.storable(list(dict.fromkeys(urls)))
    yield from sql.write_many(
        _ADD_ALIAS, [(url, feed_no) for url in sorted(texts, key=codec.digest)]
    )


def alias_holder(url: str) -> Query[int | None]:
    """The number of the feed that has the address."""
    found: int | None = yield from sql.value(
        f"SELECT a.feed_no FROM feed_aliases a WHERE {_IS_URL}", url
    )
    return found


def change_feed_hubs(feed_id: str, hubs: Sequence[str]) -> Query[None]:
    """Store the hubs that were found elsewhere than in the feed's document."""
    yield from sql.write(
        "UPDATE feeds SET hubs = $2 WHERE id = $1", feed_id, codec.json_or_null(hubs)
    )


def save_quota(feed_no: int, use: QuotaUse) -> Query[None]:
    """Store what a feed brought today, when it was not polled but pushed."""
    yield from sql.write(
        "UPDATE feeds SET quota = $2 WHERE feed_no = $1", feed_no, codec.json_text(use)
    )


def make_due(feed_ids: Sequence[str] | None, now: datetime) -> Query[int]:
    """Make feeds due now; how many. None: all of them. Paused feeds stay paused."""
    at, chosen = codec.micros(now), list(feed_ids or ())
    if feed_ids is None:
        lanes = yield from sql.column(_LANES_OF_ALL)
        count = yield from sql.write(_MAKE_ALL_DUE, at)
    else:
        lanes = yield from sql.column(_LANES_OF_CHOSEN, chosen)
        count = yield from sql.write(_MAKE_CHOSEN_DUE, at, chosen)
    yield from sql.write(_HASTEN_ALL, at, lanes)
    return count


def remove_feed(feed_id: str, events: Sequence[NewEvent] = ()) -> Query[bool]:
    """Delete a feed with its entries and their identities; its events stay in the log."""
    feed_no = yield from _lock_feed(feed_id)
    if feed_no is None:
        return False
    for table in ("entries", "tombstones"):
        for of_entry in ("entry_identities", "articles", "entry_aliases"):
            yield from sql.write(
                f"DELETE FROM {of_entry} WHERE entry_id IN"
                f" (SELECT entry_id FROM {table} WHERE feed_no = $1)",
                feed_no,
            )
    yield from sql.write("DELETE FROM fetches WHERE feed_no = $1", feed_no)
    yield from delete_jobs_of_feed(feed_id)
    yield from leave_feed(feed_id)
    yield from sql.write("DELETE FROM feeds WHERE feed_no = $1", feed_no)
    yield from sql.append_events(events, f"feed/{feed_id}/removed")
    return True


def imported(list_id: str) -> Query[tuple[ImportedOutline, ...]]:
    """The outlines of a list that were processed, in the order of their URLs."""
    found = yield from sql.rows(
        f"SELECT {_OUTLINE.names()} FROM import_outlines WHERE list_id = $1", list_id
    )
    return tuple(_OUTLINE.value(one) for one in sorted(found, key=lambda one: one[0]))


def save_imported(list_id: str, items: Sequence[ImportedOutline]) -> Query[None]:
    """Store the outcome of these outlines; of several for one URL the last counts."""
    kept = yield from sql.storable(tuple(items))
    # In one order, so that two that write the same list never wait for each other in a circle.
    by_url = {one.url: (list_id, *_OUTLINE.row(one)) for one in kept}
    yield from sql.write_many(_KEEP_OUTLINE, [by_url[url] for url in sorted(by_url)])


def set_tags(feed_no: int, tags: Sequence[str]) -> Query[None]:
    """Replace the feed's tags."""
    names = yield from sql.storable(tuple(tags))
    yield from sql.write("DELETE FROM feed_tags WHERE feed_no = $1", feed_no)
    yield from sql.write_many(
        "INSERT INTO feed_tags (tag, feed_no) VALUES ($1, $2)",
        [(name, feed_no) for name in dict.fromkeys(names)],
    )


def retag(feed_no: int, tags: Sequence[str]) -> Query[None]:
    """Write the feed's tags into its row and into the index of tags."""
    yield from sql.write(
        "UPDATE feeds SET tags = $1 WHERE feed_no = $2", codec.json_text(tags), feed_no
    )
    yield from set_tags(feed_no, tags)


def _find(urls: Sequence[str]) -> Query[tuple[int, Feed] | None]:
    for url in urls:
        found = yield from sql.row(
            f"{FEED_SELECT} JOIN feed_aliases a ON a.feed_no = f.feed_no WHERE {_IS_URL}", url
        )
        if found is not None:
            return found[0], codec.feed_of(found[1:])
    return None


def _insert(feed: Feed, urls: Sequence[str]) -> Query[bool]:
    """Insert the feed, unless another feed got one of its addresses meanwhile."""
    lane_id, due_at = (yield from sql.lane_of(feed.url, feed.id)), codec.micros(feed.next_poll_at)
    yield from lock_lanes((lane_id,))
    feed_no = yield from sql.value(_INSERT, *codec.given_row(feed), *codec.state_row(feed))
    yield from add_aliases(feed_no, urls)
    got = yield from sql.value("SELECT count(*) FROM feed_aliases WHERE feed_no = $1", feed_no)
    if got < len(urls):
        yield from sql.write("DELETE FROM feeds WHERE feed_no = $1", feed_no)
        return False
    yield from sql.write(
        "INSERT INTO feed_sched (feed_no, lane_id, next_run_at, paused) VALUES ($1, $2, $3, $4)",
        feed_no,
        lane_id,
        due_at,
        int(feed.paused),
    )
    if not feed.paused:
        yield from hasten(lane_id, due_at)
    yield from set_tags(feed_no, feed.tags)
    return True


def _lock_feed(feed_id: str) -> Query[int | None]:
    """Lock the feed's lane and then the feed; its number."""
    found = yield from sql.row(
        "SELECT s.lane_id, f.feed_no FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"
        " WHERE f.id = $1",
        feed_id,
    )
    if found is None:
        return None
    yield from lock_lanes((found[0],))
    feed_no: int | None = yield from sql.value(
        "SELECT feed_no FROM feeds WHERE id = $1 @lock(FOR UPDATE)", feed_id
    )
    return feed_no
