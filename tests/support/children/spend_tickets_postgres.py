"""A process that spends every ticket it is named and holds every webhook it can get.

Waits for a line on standard input, so that several begin at one moment; prints what it got.
"""

import asyncio
import sys
from datetime import timedelta

from tests.support.sample_refreshes import NOON

from feedmill.adapters.store.postgres.store import PostgresStore


async def work(dsn: str, owner: str, tickets: int) -> None:
    store = await PostgresStore.open(dsn, connections=4)
    print("ready", flush=True)  # noqa: T201  # this is what it is for
    sys.stdin.readline()
    taken = await asyncio.gather(
        *(store.spend_ticket(f"{number:064x}", NOON) for number in range(tickets))
    )
    held = await store.lease_webhooks(owner, now=NOON, until=NOON + timedelta(minutes=1))
    spent = [str(number) for number, mine in enumerate(taken) if mine]
    print(" ".join(spent), "/", " ".join(sorted(held)), flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3])))
