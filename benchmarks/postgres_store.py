"""How many refreshes processes commit per second to one PostgreSQL, in groups and one by one.

    python -m benchmarks.postgres_store [--feeds 1000] [--rounds 6] [--processes 1 2] [--dsn …]

Two loads: 304s, and 200s of 30 entries of which one is new; each through the committer that the
store uses, by 500 lanes at once, first gathered into groups and then one transaction per refresh,
eight of them at a time. Without --dsn it starts a PostgreSQL of its own, durable as it comes.

`µs` is the CPU time of the process per refresh, the server's not included; `statements` are those of
the transactions with BEGIN and COMMIT, per refresh.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.support.sample_refreshes import HOUR, NOON, a_refresh, an_entry, new_feed, read
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.batchers import (
    COMMIT_GROUP_SIZE,
    IN_FLIGHT,
    CommitBatcher,
)
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, PgConnection, T
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.feed import Feed, Lane
from feedmill.model.refresh import Refresh

LANES: Final = 500  # that commit at once
ENTRIES: Final = 30
ALONE: Final = 8  # transactions at a time, where each refresh has its own
WAYS: Final = {"in groups": (IN_FLIGHT, COMMIT_GROUP_SIZE), "one by one": (ALONE, 1)}


def main() -> None:
    """Print one line per load, way and number of processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=1_000, help="of each process")
    parser.add_argument("--rounds", type=int, default=6, help="of 304s over all feeds")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dsn", help="a migrated database that may be filled")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        asyncio.run(
            work(options.dsn, options.worker * options.feeds, options.feeds, options.rounds)
        )
        return
    print("processes  load                      commits/s     µs  statements  per transaction")
    for processes in options.processes:
        with _database(options.dsn) as dsn:
            measure(dsn, processes, options.feeds, options.rounds)


@contextmanager
def _database(dsn: str | None) -> Iterator[str]:
    """The database that was named, or a fresh one."""
    if dsn is not None:
        yield dsn
        return
    with PostgresServer() as server:
        yield migrated_database(server)


def measure(dsn: str, processes: int, feeds: int, rounds: int) -> None:
    """Let the processes do the same thing at the same time, and add up what they did."""
    workers = [_start(dsn, number, feeds, rounds) for number in range(processes)]
    for load in ("304", "200, 1 new of 30"):
        for way in WAYS:
            for worker in workers:
                _hear(worker)  # it is ready
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write("go\n")
                worker.stdin.flush()
            told = [list(map(float, _hear(worker).split())) for worker in workers]
            rate, (_, cpu, statements, group) = sum(one[0] for one in told), told[0]
            line = f"{processes:9d}  {load:17s} {way:10s} {rate:6.0f} {cpu:6.0f}"
            print(f"{line} {statements:11.2f} {group:16.0f}", flush=True)
    for worker in workers:
        worker.communicate(timeout=60)


def _start(dsn: str, number: int, feeds: int, rounds: int) -> "subprocess.Popen[str]":
    numbers = ["--worker", str(number), "--feeds", str(feeds), "--rounds", str(rounds)]
    command = [sys.executable, "-m", "benchmarks.postgres_store", "--dsn", dsn, *numbers]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _hear(worker: "subprocess.Popen[str]") -> str:
    assert worker.stdout is not None
    return worker.stdout.readline()


class _Counting(Database):
    """Counts its transactions and the statements in them."""

    transactions = 0
    statements = 0

    async def write(self, job: ConnectionJob[T]) -> T:
        async def counted(connection: PgConnection) -> T:
            with connection.query_logger(self._count):
                return await job(connection)

        self.transactions += 1
        self.statements += 2
        return await super().write(counted)

    def _count(self, _: object) -> None:
        self.statements += 1


async def work(dsn: str, first: int, count: int, rounds: int) -> None:
    """One process: every load in every way, when it is told to go."""
    store = await PostgresStore.open(dsn)
    database = await _Counting.open(dsn, connections=ALONE, timeout_sec=60)
    feeds = await _subscribe(store, range(first, first + count))
    await _commit(database, _unchanged(feeds, 0), *WAYS["in groups"])  # learns the headers
    await _commit(database, await _documents(store, feeds, 1), *WAYS["in groups"])  # all are new
    run = 2
    for way in WAYS.values():
        turns = rounds if way[1] > 1 else 1
        refreshes = [one for turn in range(turns) for one in _unchanged(feeds, run + turn)]
        await _report(database, refreshes, *way)
        run += turns
    for way in WAYS.values():
        await _report(database, await _documents(store, feeds, run), *way)
        run += 1
    await database.close()
    await store.close()


async def _subscribe(store: PostgresStore, numbers: Sequence[int]) -> list[tuple[Feed, Lane]]:
    for at in range(0, len(numbers), 50):
        added = (store.add_feed(new_feed(number)) for number in numbers[at : at + 50])
        await asyncio.gather(*added)
    ids = [f"feed-{number:08d}" for number in numbers]
    claims = await store.claim(
        str(numbers[0]), now=NOON, lease_sec=864_000, max_lanes=len(ids), max_feeds=1, only=ids
    )
    return [(feed, claim.lane) for claim in claims for feed in claim.feeds]


def _unchanged(feeds: Sequence[tuple[Feed, Lane]], run: int) -> list[Refresh]:
    return [a_refresh(feed, run, at=NOON + HOUR * run, lane=lane) for feed, lane in feeds]


async def _documents(
    store: PostgresStore, feeds: Sequence[tuple[Feed, Lane]], run: int
) -> list[Refresh]:
    """Of the entries of the run before, the oldest has left and one has come."""
    refreshes = []
    for feed, lane in feeds:
        number = await _next_entry(store, feed)
        entries = [an_entry(f"{feed.id}-{one}") for one in range(number, number + ENTRIES)]
        changes = await read(store, feed, entries)
        at = NOON + HOUR * run
        refreshes.append(a_refresh(feed, run, at=at, lane=lane, changes=changes))
    return refreshes


async def _next_entry(store: PostgresStore, feed: Feed) -> int:
    """The number of the first entry of the feed's next document."""
    rows = await store.current_document(feed.id, with_keys=False)
    return 1 + min((int((row.guid or "").rpartition("-")[2]) for row in rows), default=-1)


async def _report(
    database: _Counting, refreshes: Sequence[Refresh], in_flight: int, group_size: int
) -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    database.transactions = database.statements = 0
    rate, cpu = await _commit(database, refreshes, in_flight, group_size)
    statements, group = database.statements / len(refreshes), len(refreshes) / database.transactions
    print(rate, cpu, statements, group, flush=True)


async def _commit(
    database: Database, refreshes: Sequence[Refresh], in_flight: int, group_size: int
) -> tuple[float, float]:
    """Refreshes per second and CPU microseconds of one; making them is not counted."""
    committer = CommitBatcher(database, LaneSettings(), in_flight=in_flight, group_size=group_size)
    began, cpu_began = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        for lane in range(LANES):
            tasks.create_task(_work_lane(committer, refreshes[lane::LANES]))
    wall_sec, cpu_sec = time.perf_counter() - began, time.process_time() - cpu_began
    await committer.close()
    return len(refreshes) / wall_sec, cpu_sec / len(refreshes) * 1e6


async def _work_lane(committer: CommitBatcher, refreshes: Sequence[Refresh]) -> None:
    """One lane: a commit after the other, as the engine does it."""
    for refresh in refreshes:
        done = await committer.commit(refresh)
        assert not done.fenced
        assert not done.duplicate


if __name__ == "__main__":
    main()
