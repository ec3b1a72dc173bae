"""A process of eight tasks that claim and release; it fails when a lane is held twice at once.

Prints the number of each lane that it held.
"""

import asyncio
import sys
from functools import partial

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.postgres.pool import DatabaseClock, PgConnection
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.running.worker import Worker

TASKS = 8
CLAIMS = 5  # of each task
LANES = 3  # of one claim


async def work(dsn: str, name: str) -> None:
    store = await PostgresStore.open(dsn, connections=TASKS)
    clock = DatabaseClock(SystemClock())
    await clock.follow(store.database)
    now = clock.now()
    worker = Worker(name=name, role="worker", version="1", started_at=now, seen_at=now)
    await store.save_worker(worker)
    async with asyncio.TaskGroup() as tasks:
        for number in range(TASKS):
            tasks.create_task(_claim_and_release(store, clock, f"{name}/{number}"))
    await store.close()


async def _claim_and_release(store: PostgresStore, clock: DatabaseClock, owner: str) -> None:
    done = 0
    while done < CLAIMS:
        now = clock.now()
        claims = await store.claim(owner, now=now, lease_sec=60, max_lanes=LANES, max_feeds=2)
        done += bool(claims)
        for claim in claims:
            # The key is unique: a lane that somebody else has at this moment cannot be inserted.
            await store.database.write(partial(_take, lane_id=claim.lane.id))
            print(claim.lane.id, flush=True)  # noqa: T201  # this is what it is for
        await asyncio.sleep(0)
        for claim in claims:
            await store.database.write(partial(_give, lane_id=claim.lane.id))
            back = [(feed.id, claim.scheduled_at[0]) for feed in claim.feeds]
            await store.release(claim.lane, claim.lane.pace, now=now, deferred=back)


async def _take(connection: PgConnection, lane_id: int) -> None:
    await connection.execute("INSERT INTO hands (lane_id) VALUES ($1)", lane_id)


async def _give(connection: PgConnection, lane_id: int) -> None:
    await connection.execute("DELETE FROM hands WHERE lane_id = $1", lane_id)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
