"""A primary dies under load and its synchronous standby takes over: nothing acknowledged is lost."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import NamedTuple

import asyncpg
import pytest
from tests.support.sample_refreshes import (
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    new_feed,
    read,
)
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import HANG_GUARD_SEC, wait_until

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.engine.run.lifecycle import is_transient
from feedmill.errors import StoreError
from feedmill.model.entry import Entry

WRITERS = 8
BEFORE, AFTER = 80, 40  # commits that are acknowledged before the blow, and after it


class Pair(NamedTuple):
    """A primary and the standby that every commit waits for."""

    primary: PostgresServer
    standby: PostgresServer
    database: str

    @property
    def dsn(self) -> str:
        """Both of them; whoever takes writes is the one."""
        ports = (self.primary.port, self.standby.port)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        attributes = "target_session_attrs=read-write"
        return f"postgresql://{self.primary.user}@{hosts}/{self.database}?{attributes}"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Both are of this module alone: one of them dies in it."""
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer())
        database = migrated_database(primary).rpartition("/")[2]
        standby = primary.standby()
        stack.callback(standby.close)
        primary.run_sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.reload()
        made = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        primary._until(lambda: primary.run_sql(made) == "1", "has no synchronous standby")
        yield Pair(primary, standby, database)


async def test_standby_promoted_under_load_has_every_acknowledged_commit(pair: Pair) -> None:
    store = await PostgresStore.open(pair.dsn, connections=WRITERS, timeout_sec=20.0)
    try:
        books = Books()
        await write_through_a_failover(store, pair, books)
        last = await store.last_seq()
        told = await store.events(after=0, limit=last + 1)
    finally:
        await store.close()

    assert await stored_runs(pair) == sorted(books.acknowledged)
    assert books.tried_again > 0  # the blow fell while commits were under way
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    names = [event.data["title"] for event in told if event.type == "new_entry"]
    assert sorted(names) == sorted(f"About {who}-{run}" for who, run in books.acknowledged)
    assert await horizon_is_behind(pair)


class Books:
    """What the writers were promised."""

    def __init__(self) -> None:
        self.acknowledged: list[tuple[int, int]] = []  # writer and run
        self.tried_again = 0
        self._enough = asyncio.Event()
        self._aim = 0
        self.is_over = False

    def note(self, writer: int, run: int) -> None:
        self.acknowledged.append((writer, run))
        if len(self.acknowledged) >= self._aim:
            self._enough.set()

    async def reach(self, more: int) -> None:
        """Wait until so many commits more were acknowledged."""
        self._aim = len(self.acknowledged) + more
        self._enough.clear()
        await asyncio.wait_for(self._enough.wait(), HANG_GUARD_SEC)


async def write_through_a_failover(store: PostgresStore, pair: Pair, books: Books) -> None:
    """Everybody commits; in the middle of it the primary dies and the standby takes over."""
    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(keep_writing(store, writer, books))
        await books.reach(BEFORE)
        await asyncio.to_thread(pair.primary.kill)
        await wait_until(lambda: books.tried_again > 0, "a commit that fails")
        await asyncio.to_thread(pair.standby.promote)
        await books.reach(AFTER)
        books.is_over = True


async def keep_writing(store: PostgresStore, writer: int, books: Books) -> None:
    """One document after the other, each tried until it is acknowledged, as a worker does."""
    feed, _ = await store.add_feed(new_feed(writer))
    entries: list[Entry] = []
    for run in count():
        if books.is_over:
            return
        entries = [an_entry(f"{writer}-{run}"), *entries[:4]]
        while True:
            try:
                changes = await read(store, feed, entries)
                refresh = a_refresh(feed, run, at=NOON + HOUR * run, changes=changes)
                done = await store.commit(refresh)
            except StoreError as problem:
                if not is_transient(problem):
                    raise
                books.tried_again += 1
                await asyncio.sleep(0.05)  # until the standby is promoted
                continue
            assert not done.fenced
            books.note(writer, run)
            break


async def stored_runs(pair: Pair) -> list[tuple[int, int]]:
    """Writer and run of every fetch that the new primary has."""
    rows = await ask(pair, "SELECT fetch_id FROM fetches")
    parts = [row[0].split("-") for row in rows]
    return sorted((int(feed), int(run)) for _, _, feed, run in parts)


async def horizon_is_behind(pair: Pair) -> bool:
    """The log's horizon is a transaction that the new primary has left behind, too."""
    rows = await ask(
        pair,
        "SELECT horizon <= pg_snapshot_xmin(pg_current_snapshot()) FROM log_head",
    )
    waiting = await ask(pair, "SELECT count(*) FROM outbox")
    return bool(rows[0][0]) and waiting[0][0] == 0


async def ask(pair: Pair, question: str) -> list[asyncpg.Record]:
    """Asked of the new primary itself."""
    connection = await asyncpg.connect(pair.standby.dsn_of(pair.database), timeout=HANG_GUARD_SEC)
    try:
        return list(await connection.fetch(question))
    finally:
        await connection.close()
