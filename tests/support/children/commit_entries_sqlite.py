"""A process that commits refreshes with new entries until it is killed.

`commit_entries_sqlite.py HOME PAUSE_SEC`: each life has a feed of its own, which nobody else polls.
"""

import asyncio
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from msgspec.structs import replace
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.app.services import DATABASE_NAME
from feedmill.model.event import NewEvent

PER_COMMIT = 3


async def write(home: Path, pause_sec: float) -> None:
    """One commit after the other; the log grows by three events with each."""
    store = await SqliteStore.open(home / DATABASE_NAME)
    name = SystemClock().new_id()
    new = replace(new_feed(), id=name, url=f"http://127.0.0.1:1/{name}", aliases=())
    added = NewEvent(type="feed.added", feed_id=name, occurred_at=NOON)
    feed, _ = await store.add_feed(new, [added])
    feed = replace(feed, paused=True)  # or a mill beside us would poll it
    await store.change_feed(feed)
    for run in count(1):
        entries = [an_entry(f"{name}-{run}-{piece}") for piece in range(PER_COMMIT)]
        feed = await poll(store, feed, run, entries, at=NOON + timedelta(seconds=run))
        await asyncio.sleep(pause_sec)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), float(sys.argv[2])))
