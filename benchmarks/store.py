"""How many refreshes the SQLite store commits per second, and whether that stays flat.

    python -m benchmarks.store [--feeds 1000 10000 100000] [--polls 40000] [--synchronous full]

Three loads: 304s, documents of 30 known entries, documents of 30 new entries; each through the
store's own port, by many lanes at once as the engine has them, decisions included. The
second figure of each pair is the CPU time of one refresh in microseconds: rates move with
whatever else the machine does, and CPU time less so.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from tests.support.sample_refreshes import (
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    read,
)

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.feed import Feed, Lane, NewFeed
from feedmill.model.refresh import Refresh

WAVE = 5_000  # refreshes made at a time
LANES = 500  # that commit at once
ENTRIES = 30


def main() -> None:
    """Print one line per size of the store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--polls", type=int, default=40_000)
    parser.add_argument("--synchronous", choices=["normal", "full"], default="normal")
    options = parser.parse_args()
    print("   feeds       304/s (µs)   30 known/s (µs)     30 new/s (µs)  claimed/s  bytes/304")
    for feeds in options.feeds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.db"
            figures = asyncio.run(measure(path, feeds, options.polls, options.synchronous))
        line = "{:8d} {:8.0f} ({:4.0f})  {:8.0f} ({:5.0f})  {:8.0f} ({:5.0f})   {:8.0f}   {:8.0f}"
        print(line.format(feeds, *figures), flush=True)


async def measure(path: Path, count: int, polls: int, synchronous: str) -> tuple[float, ...]:
    """Refreshes per second of each load, feeds claimed per second, and bytes per 304."""
    store = await SqliteStore.open(path, synchronous="full" if synchronous == "full" else "normal")
    feeds = await _subscribe(store, count)
    claiming = time.perf_counter()
    lanes: dict[str, Lane] = {}
    while found := await claim_all(store, lanes=200):
        lanes.update((feed.id, claim.lane) for claim in found for feed in claim.feeds)
    claimed = len(lanes) / (time.perf_counter() - claiming)
    await _commit(store, _unchanged(feeds, lanes, count, 0))  # the first learns the headers
    size = await asyncio.to_thread(_size, path)
    unchanged = await _commit(store, _unchanged(feeds, lanes, polls, 1))
    grown = (await asyncio.to_thread(_size, path)) - size
    some = feeds[:: max(1, count // 1_000)][:1_000]
    fresh = await _commit(store, await _documents(store, some, 1_000, ENTRIES))
    known = [
        refresh
        for run in range(2_000, 2_005)
        for refresh in await _documents(store, some, run, ENTRIES)
    ]
    touched = await _commit(store, known)
    await store.close()
    return *unchanged, *touched, *fresh, claimed, grown / polls


async def _subscribe(store: SqliteStore, count: int) -> list[Feed]:
    feeds: list[Feed] = []
    for first in range(0, count, WAVE):
        numbers = range(first, min(first + WAVE, count))
        added = await asyncio.gather(*(store.add_feed(_new(number)) for number in numbers))
        feeds += [feed for feed, _ in added]
    return feeds


def _new(number: int) -> NewFeed:
    return new_feed(number, host=f"host{number % 20_000}.example")


def _unchanged(
    feeds: Sequence[Feed], lanes: Mapping[str, Lane], polls: int, first_run: int
) -> Iterator[Refresh]:
    """Polls over all feeds in an order that jumps about, as due times do."""
    count, step = len(feeds), 7_919
    for number in range(polls):
        feed, run = feeds[number * step % count], first_run + number // count
        yield a_refresh(feed, run, at=_instant(run, number), lane=lanes[feed.id])


async def _documents(
    store: SqliteStore, feeds: Iterable[Feed], run: int, entries: int
) -> list[Refresh]:
    refreshes = []
    for number, feed in enumerate(feeds):
        named = [an_entry(f"{feed.id}-{one}") for one in range(entries)]
        changes = await read(store, feed, named)
        refreshes.append(a_refresh(feed, run, at=_instant(run, number), changes=changes))
    return refreshes


def _instant(run: int, number: int) -> datetime:
    return NOON + HOUR * run + timedelta(microseconds=number)


async def _commit(store: SqliteStore, refreshes: Iterable[Refresh]) -> tuple[float, float]:
    """Refreshes per second and CPU microseconds of one; making them is not counted."""
    source, count, wall_sec, cpu_sec = iter(refreshes), 0, 0.0, 0.0
    while wave := list(islice(source, WAVE)):
        began, cpu_began = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as tasks:
            for lane in range(LANES):
                tasks.create_task(_work(store, wave[lane::LANES]))
        wall_sec += time.perf_counter() - began
        cpu_sec += time.process_time() - cpu_began
        count += len(wave)
    return count / wall_sec, cpu_sec / count * 1e6


async def _work(store: SqliteStore, refreshes: Sequence[Refresh]) -> None:
    """One lane: a commit after the other, as the engine does it."""
    for refresh in refreshes:
        done = await store.commit(refresh)
        assert not done.fenced
        assert not done.duplicate


def _size(path: Path) -> int:
    return path.stat().st_size


if __name__ == "__main__":
    main()
