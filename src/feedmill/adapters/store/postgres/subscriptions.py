"""Feeds as subscriptions: adding, changing, moving, removing, and when they are due.

Two processes may add one feed under two spellings at once. The addresses decide: each is unique over
all feeds, whoever comes second waits for the first and finds that the feed is there.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres import event_log
from feedmill.adapters.store.postgres.claim_planner import Pacing
from feedmill.adapters.store.postgres.lanes import hasten, hold, lane_of
from feedmill.adapters.store.postgres.pool import Connection, digest
from feedmill.adapters.store.postgres.text_sanitising import cleansed, storable
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

_GIVEN: Final = ("id", "url", "feed_key", "created_at", "tags", "overrides", "paused")
_INSERT: Final = (
    f"INSERT INTO feeds ({', '.join((*_GIVEN, *STATE_COLUMNS))})"
    f" VALUES ({', '.join(f'${n + 1}' for n in range(len(_GIVEN) + len(STATE_COLUMNS)))})"
    " RETURNING feed_no"
)
_FIND: Final = (
    f"SELECT f.feed_no, {FEED_COLUMNS}"
    " FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS w (url_hash, url, place)"
    " JOIN feed_aliases a ON a.url_hash = w.url_hash AND a.url = w.url"
    " JOIN feeds f ON f.feed_no = a.feed_no JOIN feed_sched s ON s.feed_no = f.feed_no"
    " ORDER BY w.place LIMIT 1"
)
_ADD_ALIASES: Final = (
    "INSERT INTO feed_aliases (url_hash, url, feed_no)"
    " SELECT n.url_hash, n.url, $3 FROM unnest($1::bytea[], $2::text[]) AS n (url_hash, url)"
    " ORDER BY n.url_hash ON CONFLICT (url_hash) DO NOTHING RETURNING url_hash"
)
# Lanes are locked before feeds, by everybody.
_HOLD_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE lane_id IN (SELECT s.lane_id FROM feed_sched s{chosen})"
    " ORDER BY lane_id FOR NO KEY UPDATE"
)
_HOLD_ALL: Final = _HOLD_LANES.format(chosen="")
_HOLD_CHOSEN: Final = _HOLD_LANES.format(
    chosen=" JOIN feeds f ON f.feed_no = s.feed_no WHERE f.id = ANY($1::text[])"
)
_MAKE_DUE: Final = "UPDATE feed_sched s SET next_run_at = least(s.next_run_at, $1)"
_MAKE_ALL_DUE: Final = f"{_MAKE_DUE} WHERE s.paused = 0"
_MAKE_CHOSEN_DUE: Final = (
    f"{_MAKE_DUE} FROM feeds f"
    " WHERE f.feed_no = s.feed_no AND f.id = ANY($2::text[]) AND s.paused = 0"
)
_HASTEN_ALL: Final = (
    "UPDATE lanes l SET claim_at = greatest($1, coalesce(l.next_ok_at, 0))"
    " WHERE l.lane_id = ANY($2::bigint[]) AND l.owner IS NULL"
    " AND l.claim_at > greatest($1, coalesce(l.next_ok_at, 0))"
    " AND EXISTS (SELECT 1 FROM feed_sched s"
    " WHERE s.lane_id = l.lane_id AND s.paused = 0 AND s.next_run_at <= $1)"
)


async def find_feed(connection: Connection, urls: Sequence[str]) -> Feed | None:
    """The feed that has one of the addresses, the first address first."""
    found = await _find(connection, urls)
    return None if found is None else found[1]


async def add_feed(
    connection: Connection, new: NewFeed, events: Sequence[NewEvent], pacing: Pacing
) -> tuple[Feed, bool]:
    """The feed, and whether it is new; known under any of its addresses, it only learns the rest."""
    new = cleansed(new)
    urls = tuple(dict.fromkeys((new.url, *new.aliases)))
    while True:
        known = await _find(connection, urls)
        if known is not None:
            await add_aliases(connection, known[0], urls)
            return known[1], False
        feed = feed_of_new(new)
        if await _insert(connection, feed, urls, pacing):
            await event_log.append(connection, events, f"feed/{feed.id}/added")
            return feed, True


async def change_feed(connection: Connection, feed: Feed, pacing: Pacing) -> None:
    """Write what a subscriber decides: address, title, tags, pause, overrides, pending move.

    What polls carry on is left alone: a refresh may commit at the same time, and a pause must
    not undo what it learnt, nor it the pause.
    """
    feed = cleansed(feed)
    feed_no = await _hold(connection, feed.id)
    if feed_no is None:
        return
    await connection.execute(
        "UPDATE feeds SET title = $2, site_url = $3, tags = $4, paused = $5, overrides = $6,"
        " move = $7 WHERE feed_no = $1",
        feed_no,
        feed.title,
        feed.site_url,
        json_text(feed.tags),
        int(feed.paused),
        overrides_text(feed.overrides),
        None if feed.move is None else json_text(feed.move),
    )
    await set_tags(connection, feed_no, feed.tags)
    await relocate(connection, feed_no, feed.url, pacing)
    row = await connection.fetchrow(
        "UPDATE feed_sched SET paused = $2 WHERE feed_no = $1 RETURNING lane_id, next_run_at",
        feed_no,
        int(_is_resting(feed)),
    )
    if row is not None and not _is_resting(feed):
        await hasten(connection, row["lane_id"], row["next_run_at"])


async def relocate(connection: Connection, feed_no: int, url: str, pacing: Pacing) -> None:
    """Let the feed live at another address and keep the old one as an alias (D6).

    An address that belongs to another feed is left to it: two feeds never become one here.
    """
    url = storable(url)
    row = await connection.fetchrow("SELECT id, url FROM feeds WHERE feed_no = $1", feed_no)
    if row is None or row["url"] == url:
        return
    await add_aliases(connection, feed_no, (url,))
    if await _holder(connection, url) != feed_no:
        return
    await connection.execute("UPDATE feeds SET url = $2 WHERE feed_no = $1", feed_no, url)
    lane_id = await lane_of(connection, url, pacing, row["id"])
    moved = await connection.fetchrow(
        "UPDATE feed_sched SET lane_id = $2 WHERE feed_no = $1 AND lane_id <> $2"
        " RETURNING next_run_at, paused",
        feed_no,
        lane_id,
    )
    if moved is not None and not moved["paused"]:
        await hasten(connection, lane_id, moved["next_run_at"])


async def reschedule(
    connection: Connection, feed_no: int, next_poll_at: datetime, *, is_leased: bool
) -> None:
    """Write the next run; who holds the lane sees to its claim time at release."""
    due_at = micros(next_poll_at)
    lane_id = await connection.fetchval(
        "UPDATE feed_sched SET next_run_at = $2 WHERE feed_no = $1 RETURNING lane_id",
        feed_no,
        due_at,
    )
    if lane_id is not None and not is_leased:
        await hasten(connection, lane_id, due_at)


async def add_aliases(connection: Connection, feed_no: int, urls: Iterable[str]) -> int:
    """Register addresses of the feed; one that belongs to another feed stays there (D5).

    Returns how many of them nobody had. Whoever is registering one of them is waited for.
    """
    texts = list(dict.fromkeys(map(storable, urls)))
    added = await connection.fetch(_ADD_ALIASES, [digest(url) for url in texts], texts, feed_no)
    return len(added)


async def make_due(connection: Connection, feed_ids: Sequence[str] | None, now: datetime) -> int:
    """Let feeds be polled now; how many of them are due. Paused feeds stay paused."""
    at = micros(now)
    if feed_ids is None:
        held = await connection.fetch(_HOLD_ALL)
        done = await connection.execute(_MAKE_ALL_DUE, at)
    else:
        held = await connection.fetch(_HOLD_CHOSEN, feed_ids)
        done = await connection.execute(_MAKE_CHOSEN_DUE, at, feed_ids)
    await connection.execute(_HASTEN_ALL, at, [row["lane_id"] for row in held])
    return int(done.rpartition(" ")[2])


async def remove_feed(connection: Connection, feed_id: str, events: Sequence[NewEvent]) -> bool:
    """Forget a feed with its entries and their identities; its events stay in the log."""
    feed_no = await _hold(connection, feed_id)
    if feed_no is None:
        return False
    for table in ("entries", "tombstones"):
        for kept in ("entry_identities", "articles", "entry_aliases"):
            await connection.execute(
                f"DELETE FROM {kept} k USING {table} e"
                " WHERE e.feed_no = $1 AND k.entry_id = e.entry_id",
                feed_no,
            )
    await connection.execute("DELETE FROM fetches WHERE feed_no = $1", feed_no)
    await connection.execute("DELETE FROM feeds WHERE feed_no = $1", feed_no)
    await event_log.append(connection, events, f"feed/{feed_id}/removed")
    return True


async def feed_no_of(connection: Connection, feed_id: str) -> int | None:
    """The feed's short number."""
    found: int | None = await connection.fetchval(
        "SELECT feed_no FROM feeds WHERE id = $1", storable(feed_id)
    )
    return found


async def set_tags(connection: Connection, feed_no: int, tags: Sequence[str]) -> None:
    """Let the feed be found under these tags and no others."""
    names = list(dict.fromkeys(map(storable, tags)))
    await connection.execute(
        "DELETE FROM feed_tags WHERE feed_no = $1 AND tag <> ALL($2::text[])", feed_no, names
    )
    await connection.execute(
        "INSERT INTO feed_tags (tag, feed_no) SELECT n.tag, $1 FROM unnest($2::text[]) AS n (tag)"
        " ON CONFLICT DO NOTHING",
        feed_no,
        names,
    )


async def _find(connection: Connection, urls: Sequence[str]) -> tuple[int, Feed] | None:
    texts = [storable(url) for url in urls]
    row = await connection.fetchrow(_FIND, [digest(url) for url in texts], texts)
    if row is None:
        return None
    feed_no, *columns = tuple(row)
    return feed_no, feed_of(tuple(columns))


async def _insert(connection: Connection, feed: Feed, urls: Sequence[str], pacing: Pacing) -> bool:
    """Write the feed, unless one of its addresses has become somebody else's meanwhile."""
    lane_id, due_at = (
        await lane_of(connection, feed.url, pacing, feed.id),
        micros(feed.next_poll_at),
    )
    await hold(connection, (lane_id,))
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
    feed_no = await connection.fetchval(_INSERT, *row)
    if await add_aliases(connection, feed_no, urls) < len(urls):
        await connection.execute("DELETE FROM feeds WHERE feed_no = $1", feed_no)
        return False
    await connection.execute(
        "INSERT INTO feed_sched (feed_no, lane_id, next_run_at, paused) VALUES ($1, $2, $3, $4)",
        feed_no,
        lane_id,
        due_at,
        int(_is_resting(feed)),
    )
    if not _is_resting(feed):
        await hasten(connection, lane_id, due_at)
    await set_tags(connection, feed_no, feed.tags)
    return True


async def _hold(connection: Connection, feed_id: str) -> int | None:
    """Lock the feed's lane and then the feed, as everybody does; its number."""
    lane_id = await connection.fetchval(
        "SELECT s.lane_id FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no WHERE f.id = $1",
        storable(feed_id),
    )
    if lane_id is None:
        return None
    await hold(connection, (lane_id,))
    found: int | None = await connection.fetchval(
        "SELECT feed_no FROM feeds WHERE id = $1 FOR UPDATE", storable(feed_id)
    )
    return found


async def _holder(connection: Connection, url: str) -> int | None:
    found: int | None = await connection.fetchval(
        "SELECT feed_no FROM feed_aliases WHERE url_hash = $1 AND url = $2", digest(url), url
    )
    return found


def _is_resting(feed: Feed) -> bool:
    """Whether the feed is never polled: somebody paused it, or its hub tells us everything."""
    return feed.paused or feed.overrides.push_only
