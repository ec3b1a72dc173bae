"""A process that commits documents for some feeds of a PostgreSQL store, run after run.

    python -m tests.support.children.commit_entries_postgres DSN FIRST LAST own|shared

The documents of a run are committed all at once. `own`: entries that no other feed has, outside the
schedule. `shared`: entries that every feed has, under leased lanes, every other feed in the opposite
order. It prints a line per acknowledged commit, and may be killed at any time.
"""

import asyncio
import sys
from collections.abc import Sequence

from tests.support.sample_refreshes import HOUR, NOON, a_refresh, an_entry, read

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed, Lane
from feedmill.model.refresh import Refresh

RUNS = 6
ENTRIES = 5


async def work(dsn: str, numbers: Sequence[int], kind: str) -> None:
    store = await PostgresStore.open(dsn)
    ids = [f"feed-{number:08d}" for number in numbers]
    lanes = await _claim(store, ids) if kind == "shared" else {}
    for run in range(RUNS):
        refreshes = [await _refresh(store, feed_id, run, lanes.get(feed_id)) for feed_id in ids]
        await asyncio.gather(*(_commit(store, refresh) for refresh in refreshes))
    await store.close()


def names_of(feed_id: str, run: int, kind: str) -> list[str]:
    """What the entries of a document are called."""
    whose = feed_id if kind == "own" else "shared"
    names = [f"{whose}-{run}-{number}" for number in range(ENTRIES)]
    return names[::-1] if int(feed_id[-1]) % 2 else names


async def _claim(store: PostgresStore, ids: Sequence[str]) -> dict[str, Lane]:
    claims = await store.claim(
        f"owner of {ids[0]}", now=NOON, lease_sec=864_000, max_lanes=99, max_feeds=99, only=ids
    )
    return {feed.id: claim.lane for claim in claims for feed in claim.feeds}


async def _refresh(store: PostgresStore, feed_id: str, run: int, lane: Lane | None) -> Refresh:
    feed: Feed | None = await store.feed(feed_id)
    assert feed is not None
    kind = "own" if lane is None else "shared"
    entries: list[Entry] = [an_entry(name) for name in names_of(feed_id, run, kind)]
    changes = await read(store, feed, entries)
    return a_refresh(feed, run, at=NOON + HOUR * run, lane=lane, changes=changes)


async def _commit(store: PostgresStore, refresh: Refresh) -> None:
    done = await store.commit(refresh)
    assert not done.fenced
    if not done.duplicate:
        print(refresh.fetch.fetch_id, flush=True)  # noqa: T201  # this is what it is for


if __name__ == "__main__":
    first, last = int(sys.argv[2]), int(sys.argv[3])
    asyncio.run(work(sys.argv[1], range(first, last + 1), sys.argv[4]))
