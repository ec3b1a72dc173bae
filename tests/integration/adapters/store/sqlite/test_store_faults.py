"""A full disk, a lock that never ends, a closed store: a clear reason, nothing lost, going on."""

import asyncio
import resource
import sqlite3
from pathlib import Path

import pytest
from tests.support.sample_refreshes import NOON, a_refresh, an_entry, claim_all, new_feed, read
from tests.support.waiting import hang_guard

from feedmill.adapters.store.sqlite.connection import MEMORY
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.errors import StoreError
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter
from feedmill.model.refresh import Refresh


async def a_large_refresh(store: SqliteStore, feed: Feed) -> Refresh:
    entries = [an_entry(f"large{number}", "text " * 2_000) for number in range(20)]
    return a_refresh(feed, 1, at=NOON, changes=await read(store, feed, entries))


async def limit_pages(store: SqliteStore, pages: int) -> None:
    """Let the database grow no further: what SQLite does then is what it does on a full disk."""
    await store._writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())


async def test_a_full_disk_is_an_error_with_a_reason_and_the_store_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    feed, _ = await store.add_feed(new_feed())
    refresh = await a_large_refresh(store, feed)
    await limit_pages(store, 1)

    with pytest.raises(StoreError, match="disk is full") as caught:
        await store.commit(refresh)
    assert caught.value.reason == "disk-full"
    assert (await store.counts())["entries"] == 0

    await limit_pages(store, 1_000_000)
    done = await store.commit(refresh)

    assert done.last_seq == 20
    assert await store.problems() == ()
    await store.close()


def test_a_disk_without_room_to_open_the_store_is_called_full(tmp_path: Path) -> None:
    """SQLite needs 32 kB beside the log; without them it speaks of an I/O error."""

    async def story() -> None:
        await (await SqliteStore.open(tmp_path / "store.db")).close()

    asyncio.run(story())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(StoreError, match="disk is full") as caught:
            asyncio.run(story())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert caught.value.reason == "disk-full"


async def test_everybody_who_waits_is_told_that_the_disk_is_full(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    feeds = [(await store.add_feed(new_feed(number)))[0] for number in range(5)]
    refreshes = [await a_large_refresh(store, feed) for feed in feeds]
    await limit_pages(store, 1)

    done = await asyncio.gather(*map(store.commit, refreshes), return_exceptions=True)

    assert {one.reason for one in done if isinstance(one, StoreError)} == {"disk-full"}
    assert len(done) == 5
    assert (await store.counts())["events"] == 0
    await store.close()


async def test_a_lock_that_outlasts_our_patience_is_an_error_and_the_next_write_works(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, patience_sec=0.0)
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")

    adding = [store.add_feed(new_feed(number)) for number in range(3)]
    told = await asyncio.gather(*adding, return_exceptions=True)
    foreign.execute("ROLLBACK")
    foreign.close()

    assert [one.reason for one in told if isinstance(one, StoreError)] == ["busy"] * 3
    _, created = await store.add_feed(new_feed())
    assert created
    await store.close()


async def test_a_claim_that_nobody_waits_for_any_more_leases_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    await store.add_feed(new_feed())
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    claiming = asyncio.create_task(claim_all(store, "gone"))
    await asyncio.sleep(0)  # it has put its job into the queue
    claiming.cancel()
    await asyncio.gather(claiming, return_exceptions=True)

    foreign.execute("ROLLBACK")
    foreign.close()

    assert len(await claim_all(store, "here")) == 1
    await store.close()


async def test_closing_does_not_wait_for_a_foreign_writer_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)  # with a minute's patience
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    adding = asyncio.create_task(store.add_feed(new_feed()))
    await asyncio.sleep(0)  # it has put its job into the queue

    async with hang_guard():
        await store.close()

    with pytest.raises(StoreError) as caught:
        await adding
    assert caught.value.reason == "busy"
    foreign.close()


async def test_a_closed_store_says_that_it_is_closed(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    await store.close()
    await store.close()

    with pytest.raises(StoreError, match="closed"):
        await store.feed("x")
    with pytest.raises(StoreError, match="closed"):
        await store.add_feed(new_feed())


async def test_what_was_asked_before_closing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    adding = [asyncio.create_task(store.add_feed(new_feed(number))) for number in range(50)]
    await asyncio.sleep(0)  # every task has put its job into the queue

    await store.close()

    assert all(created for _, created in await asyncio.gather(*adding))
    again = await SqliteStore.open(path, synchronous="full")
    assert (await again.counts())["feeds"] == 50
    await again.close()


async def test_a_waiter_who_gave_up_does_not_disturb_the_others(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    adding = [asyncio.create_task(store.add_feed(new_feed(number))) for number in range(3)]
    await asyncio.sleep(0)  # every task has put its job into the queue
    adding[1].cancel()

    done = await asyncio.gather(*adding, return_exceptions=True)

    assert isinstance(done[1], asyncio.CancelledError)
    assert (await store.counts())["feeds"] == 3
    await store.close()


async def test_a_store_in_memory_works_and_forgets() -> None:
    store = await SqliteStore.open(MEMORY)
    feed, _ = await store.add_feed(new_feed())
    await store.commit(await a_large_refresh(store, feed))
    assert len((await store.entries(EntryFilter())).items) == 20
    await store.close()

    other = await SqliteStore.open(MEMORY)
    assert (await other.counts())["feeds"] == 0
    await other.close()
