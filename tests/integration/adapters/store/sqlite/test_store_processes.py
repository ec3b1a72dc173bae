"""Several processes on one file, some of which die: nothing is lost, nothing is done twice."""

import asyncio
import signal
import sqlite3
import threading
from pathlib import Path
from subprocess import Popen

from tests.support.sample_refreshes import HOUR, NOON, a_refresh, an_entry, new_feed, poll, read
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import start_child

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.page import EntryFilter

FEEDS = 24


def start_worker(path: Path, owner: str) -> Popen[str]:
    return start_child("claim_and_commit_sqlite", str(path), owner)


async def prepare(path: Path) -> None:
    store = await SqliteStore.open(path)
    for number in range(FEEDS):
        await store.add_feed(new_feed(number, host=f"host{number % 8}.example"))
    await store.close()


def read_until_killed(worker: Popen[str], lines: int) -> list[str]:
    """Let the worker acknowledge so many commits, then kill it in whatever it is doing."""
    assert worker.stdout is not None
    said = [worker.stdout.readline() for _ in range(lines)]
    worker.send_signal(signal.SIGKILL)
    said += worker.stdout.readlines()
    worker.stdout.close()
    worker.wait(HANG_GUARD_SEC)
    return [line for line in said if line.endswith("\n")]


def read_to_the_end(worker: Popen[str]) -> list[str]:
    output, _ = worker.communicate(timeout=HANG_GUARD_SEC)
    assert worker.returncode == 0
    return output.splitlines()


def test_two_processes_share_the_work_and_killed_ones_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    asyncio.run(prepare(path))

    acknowledged = []
    for life, lines in enumerate((3, 17, 29)):
        acknowledged += read_until_killed(start_worker(path, f"doomed{life}"), lines)
    workers = [start_worker(path, owner) for owner in ("one", "two")]
    for worker in workers:
        acknowledged += read_to_the_end(worker)

    asyncio.run(check(path, acknowledged))


async def check(path: Path, acknowledged: list[str]) -> None:
    """Every acknowledged run is there once, every new entry has one event, numbers have no gap."""
    store = await SqliteStore.open(path)
    assert await store.problems() == ()
    runs = [tuple(line.split()[:2]) for line in acknowledged]
    assert len(runs) == len(set(runs))
    fetches = {
        (one.feed_id, one.fetch_id.rpartition("-")[2])
        for number in range(FEEDS)
        for one in (await store.fetches(f"feed-{number:08d}", limit=1_000)).items
    }
    assert set(runs) <= fetches
    events = await store.events(after=0, limit=100_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    page = await store.entries(EntryFilter(), limit=100_000)
    uids = [event.entry_uid for event in events]
    assert len(uids) == len(set(uids))
    assert set(uids) == {entry.entry_uid for entry in page.items}
    await store.close()


async def test_a_foreign_writer_costs_waiting_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    feed, _ = await store.add_feed(new_feed())
    foreign = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    foreign.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(2.5, foreign.execute, ["ROLLBACK"])
    timer.start()

    commit = asyncio.create_task(store.commit(a_refresh(feed, 1, at=NOON)))
    assert await store.feed(feed.id) == feed  # readers go on meanwhile
    done = await commit

    timer.join()
    foreign.close()
    assert not done.fenced
    assert (await store.counts())["fetches"] == 1
    await store.close()


async def test_a_reader_sees_whole_refreshes_only(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    feed, _ = await store.add_feed(new_feed())
    stop = asyncio.Event()

    async def look() -> None:
        while not stop.is_set():
            counts = await store.counts()
            assert counts["entries"] == counts["events"] == counts["fetches"] * 3

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(look())
        now = feed
        for run in range(40):
            entries = [an_entry(f"{run}-{name}") for name in "abc"]
            now = await poll(store, now, run, entries, at=NOON + HOUR * run)
        stop.set()
    await store.close()


async def test_commits_that_come_together_are_one_transaction_and_one_bad_one_sinks_alone(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    feeds = [(await store.add_feed(new_feed(number)))[0] for number in range(20)]
    refreshes = [
        a_refresh(feed, 1, at=NOON, changes=await read(store, feed, [an_entry(feed.id)]))
        for feed in feeds
    ]
    bad = refreshes[7]
    for event in bad.events:
        event.data["unspeakable"] = object()

    done = await asyncio.gather(*map(store.commit, refreshes), return_exceptions=True)

    assert [isinstance(one, TypeError) for one in done] == [n == 7 for n in range(20)]
    counts = await store.counts()
    assert counts["entries"] == counts["events"] == counts["fetches"] == 19
    assert await store.problems() == ()
    await store.close()
