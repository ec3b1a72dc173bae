"""A process that writes events and reads the log at the same time; prints what it read.

Each transaction writes two events and stays open for a moment that follows from its number; one in
eleven is rolled back.
"""

import asyncio
import sys
from functools import partial
from zlib import crc32

from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.store.postgres.event_log import PostgresEventLog, append
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import instant
from feedmill.model.event import NewEvent

EVENTS_EACH = 2
ROLLED_BACK = 11


class RolledBackError(Exception):
    """A transaction that comes to nothing."""


def is_rolled_back(number: int) -> bool:
    """True for a transaction that leaves nothing, not even a hole in the log."""
    return number % ROLLED_BACK == ROLLED_BACK - 1


def events_of(writer: str, number: int) -> list[NewEvent]:
    """What a transaction tells."""
    return [
        NewEvent(
            type="new_entry",
            feed_id=writer,
            occurred_at=instant(number),
            data={"number": number, "part": part},
        )
        for part in range(EVENTS_EACH)
    ]


async def write(database: Database, writer: str, transactions: int) -> None:
    """Write events, one transaction after the other, each open for up to 5 ms."""

    async def tell(connection: PgConnection, number: int) -> None:
        await append(connection, events_of(writer, number), f"{writer}/{number}")
        await connection.execute(
            "INSERT INTO naive_log (feed_id, number) VALUES ($1, $2)", writer, number
        )
        await asyncio.sleep(crc32(f"{writer}/{number}".encode()) % 6 / 1000)
        if is_rolled_back(number):
            raise RolledBackError

    for number in range(transactions):
        try:
            await database.write(partial(tell, number=number))
        except RolledBackError:
            continue


async def read(log: PostgresEventLog, after: int, *, limit: int) -> list[tuple[int, str, int, int]]:
    """Everything after a number, page by page: its number, its writer and what it told."""
    found: list[tuple[int, str, int, int]] = []
    while page := await log.events(after, limit):
        found += [(one.seq, one.feed_id, one.data["number"], one.data["part"]) for one in page]
        after = page[-1].seq
    return found


async def work(dsn: str, writer: str, transactions: int) -> None:
    """Write and read until everything is written."""
    database = await Database.open(dsn, connections=3, timeout_sec=HANG_GUARD_SEC)
    writing = asyncio.create_task(write(database, writer, transactions))
    log, seen = PostgresEventLog(database), 0
    while not writing.done():
        for event in await read(log, seen, limit=50):
            print(*event, flush=True)  # noqa: T201  # this is what it is for
            seen = event[0]
        await asyncio.sleep(0.001)
    await writing
    await database.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3])))
