"""A process that claims, commits and releases until nothing is due; may be killed at any time.

Prints one line per acknowledged commit: the feed, the run and the last number of the log.
"""

import asyncio
import sys
from datetime import timedelta

from tests.support.sample_refreshes import NOON, a_refresh, an_entry, claim_all, read

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.feed import Claim, HostPace

HORIZON = timedelta(hours=6)
STEP = timedelta(minutes=5)


async def work(path: str, owner: str) -> None:
    """Live through six hours of the schedule, five minutes at a time."""
    store = await SqliteStore.open(path)
    now = NOON
    while now < NOON + HORIZON:
        claims = await claim_all(store, owner, now=now, lanes=3)
        await asyncio.gather(*(_work_lane(store, claim) for claim in claims))
        now += STEP
    await store.close()


async def _work_lane(store: SqliteStore, claim: Claim) -> None:
    for feed, scheduled_at in zip(claim.feeds, claim.scheduled_at, strict=True):
        run = int((scheduled_at - NOON).total_seconds())
        entries = [
            an_entry(f"{feed.id}-{number}") for number in range(run // 3600, run // 3600 + 5)
        ]
        changes = await read(store, feed, entries)
        refresh = a_refresh(
            feed, run, at=scheduled_at, scheduled_at=scheduled_at, lane=claim.lane, changes=changes
        )
        done = await store.commit(refresh)
        if not done.fenced and not done.duplicate:
            print(feed.id, run, done.last_seq, flush=True)  # noqa: T201  # this is what it is for
    await store.release(claim.lane, HostPace(gap_ms=0), now=NOON)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
