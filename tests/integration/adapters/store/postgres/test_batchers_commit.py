"""Commits that come together on PostgreSQL: one transaction, one answer each, nobody disturbs others."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import pytest
from msgspec.structs import replace
from tests.support.cut_at_commit_proxy import CuttingProxy, Moment
from tests.support.sample_refreshes import (
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    read,
)
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.batchers import CommitBatcher
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, PgConnection, T
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.errors import StoreError
from feedmill.model.feed import Feed, Lane
from feedmill.model.page import EntryFilter
from feedmill.model.refresh import Refresh

Story = Callable[[PostgresStore], Awaitable[None]]


class CountingDatabase(Database):
    """Counts its transactions and the statements in them."""

    transactions = 0
    statements = 0

    async def write(self, job: ConnectionJob[T]) -> T:
        async def counted(connection: PgConnection) -> T:
            with connection.query_logger(self._count):
                return await job(connection)

        self.transactions += 1
        return await super().write(counted)

    def _count(self, _: object) -> None:
        self.statements += 1


def tell(dsn: str, story: Story) -> None:
    """Tell a story to a store, check that it left the store healthy, and close it."""

    async def told() -> None:
        store = await PostgresStore.open(dsn)
        try:
            await story(store)
            assert await store.problems() == ()
        finally:
            await store.close()

    asyncio.run(told())


async def some_feeds(store: PostgresStore, count: int) -> list[tuple[Feed, Lane]]:
    """Subscribed and leased."""
    for number in range(count):
        await store.add_feed(new_feed(number))
    claims = await claim_all(store, lanes=count)
    return [(feed, claim.lane) for claim in claims for feed in claim.feeds]


async def documents(
    store: PostgresStore, feeds: Sequence[tuple[Feed, Lane]], run: int
) -> list[Refresh]:
    return [
        a_refresh(
            feed,
            run,
            at=NOON + HOUR * run,
            lane=lane,
            changes=await read(store, feed, [an_entry(f"{feed.id}-{run}-{n}") for n in "ab"]),
        )
        for feed, lane in feeds
    ]


def test_a_group_of_any_size_takes_the_same_few_statements(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        feeds = await some_feeds(store, 60)
        database = await CountingDatabase.open(emptied_dsn, connections=2, timeout_sec=60)
        committer = CommitBatcher(database, LaneSettings(), in_flight=1)
        for run, chosen in enumerate((feeds, feeds[:1], feeds)):
            database.transactions = database.statements = 0
            refreshes = [
                a_refresh(feed, run, at=NOON + HOUR * run, lane=lane) for feed, lane in chosen
            ]

            await asyncio.gather(*map(committer.commit, refreshes))

            assert database.transactions == 1
            if run > 0:  # headers are known by then
                assert database.statements == 5
        await committer.close()
        await database.close()
        assert (await store.counts())["fetches"] == 121

    tell(emptied_dsn, story)


def test_each_of_a_group_is_told_what_became_of_it(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        feeds = await some_feeds(store, 6)
        refreshes = await documents(store, feeds, 1)
        await store.commit(refreshes[1])
        await store.remove_feed(feeds[2][0].id)
        lost = replace(feeds[3][1], epoch=feeds[3][1].epoch - 1)
        refreshes[3] = replace(refreshes[3], lane=lost)

        done = await asyncio.gather(*map(store.commit, refreshes))

        assert [one.duplicate for one in done] == [False, True, False, False, False, False]
        assert [one.fenced for one in done] == [False, False, True, True, False, False]
        counts = await store.counts()
        assert (counts["fetches"], counts["entries"]) == (4, 8)
        assert await store.last_seq() == 8

    tell(emptied_dsn, story)


def test_refreshes_of_one_feed_that_come_together_follow_each_other(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        ((feed, lane),) = await some_feeds(store, 1)
        refreshes = [a_refresh(feed, run, at=NOON + HOUR * run, lane=lane) for run in range(5)]

        await asyncio.gather(*map(store.commit, refreshes))

        assert await store.feed(feed.id) == refreshes[-1].feed
        page = await store.fetches(feed.id)
        assert page.items == tuple(refresh.fetch for refresh in reversed(refreshes))

    tell(emptied_dsn, story)


def test_one_bad_refresh_sinks_alone(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        refreshes = await documents(store, await some_feeds(store, 11), 1)
        impossible = replace(refreshes[7].fetch, http_status=2**40)  # more than the column holds
        refreshes[7] = replace(refreshes[7], fetch=impossible)
        refreshes[3].events[0].data["unspeakable"] = object()

        done = await asyncio.gather(*map(store.commit, refreshes), return_exceptions=True)

        failed = {at: one for at, one in enumerate(done) if isinstance(one, Exception)}
        assert {at: type(error) for at, error in failed.items()} == {3: TypeError, 7: StoreError}
        counts = await store.counts()
        assert (counts["fetches"], counts["entries"], counts["events"]) == (9, 18, 18)

    tell(emptied_dsn, story)


def test_who_stops_waiting_does_not_disturb_the_others(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        refreshes = await documents(store, await some_feeds(store, 3), 1)
        commits = [asyncio.create_task(store.commit(refresh)) for refresh in refreshes]
        await asyncio.sleep(0)  # every task has put its refresh into the queue
        commits[1].cancel()

        done = await asyncio.gather(*commits, return_exceptions=True)

        assert isinstance(done[1], asyncio.CancelledError)
        assert (await store.counts())["fetches"] == 3  # what was asked is written

    tell(emptied_dsn, story)


def test_what_was_asked_before_closing_is_written_and_nothing_after(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        other = await PostgresStore.open(emptied_dsn)
        first, *rest = await documents(store, await some_feeds(store, 20), 1)
        commits = [asyncio.create_task(other.commit(refresh)) for refresh in rest]
        await asyncio.sleep(0)  # every task has put its refresh into the queue

        await other.close()

        assert not any(one.fenced or one.duplicate for one in await asyncio.gather(*commits))
        assert (await store.counts())["fetches"] == 19
        with pytest.raises(StoreError, match="closed"):
            await other.commit(first)

    tell(emptied_dsn, story)


def test_a_run_that_two_workers_commit_at_once_counts_once(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        other = await PostgresStore.open(emptied_dsn)
        feeds = await some_feeds(store, 8)
        for run in range(5):
            refreshes = await documents(store, feeds, run)
            commits = [at.commit(one) for one in refreshes for at in (store, other)]

            done = await asyncio.gather(*commits)

            winners = [(a.duplicate, b.duplicate) for a, b in zip(*[iter(done)] * 2, strict=True)]
            assert all(one != two for one, two in winners)
        await other.close()
        counts = await store.counts()
        assert (counts["fetches"], counts["entries"], counts["events"]) == (40, 80, 80)
        assert {
            entry.seen_count for entry in (await store.entries(EntryFilter(), limit=100)).items
        } == {1}

    tell(emptied_dsn, story)


def test_an_entry_that_two_workers_add_at_once_is_one_row_and_one_event(emptied_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        other = await PostgresStore.open(emptied_dsn)
        feeds = await some_feeds(store, 8)
        early = await documents(store, feeds, 1)
        late = [
            a_refresh(feed, 2, at=NOON + HOUR * 2, lane=lane, changes=one.changes)
            for (feed, lane), one in zip(feeds, early, strict=True)
        ]

        await asyncio.gather(*map(store.commit, early), *map(other.commit, late))

        await other.close()
        counts = await store.counts()
        assert (counts["fetches"], counts["entries"], counts["events"]) == (16, 16, 16)
        assert {
            entry.seen_count for entry in (await store.entries(EntryFilter(), limit=100)).items
        } == {2}

    tell(emptied_dsn, story)


def test_workers_that_want_the_same_keys_in_opposite_orders_never_wait_in_a_circle(
    postgres: PostgresServer, emptied_dsn: str
) -> None:
    rounds, names = 4, [f"shared-{number}" for number in range(300)]

    async def story() -> None:
        stores = [await PostgresStore.open(emptied_dsn) for _ in range(2)]
        feeds = await some_feeds(stores[0], 2 * rounds)
        for number in range(rounds):
            pair = feeds[2 * number : 2 * number + 2]
            entries = [an_entry(f"{number}-{name}") for name in names]
            refreshes = [
                a_refresh(feed, 1, at=NOON, lane=lane, changes=await read(stores[0], feed, order))
                for (feed, lane), order in zip(pair, (entries, entries[::-1]), strict=True)
            ]

            commits = [at.commit(one) for at, one in zip(stores, refreshes, strict=True)]
            assert not any(done.duplicate for done in await asyncio.gather(*commits))

        counts = await stores[0].counts()
        both, once = 2 * rounds * len(names), rounds * len(names)
        assert (counts["entries"], counts["events"], counts["articles"]) == (both, both, once)
        assert await stores[0].problems() == ()
        for store in stores:
            await store.close()

    asyncio.run(story())

    assert deadlocks(postgres, emptied_dsn) == 0


def deadlocks(server: PostgresServer, dsn: str) -> int:
    """How many there ever were, once every connection has ended and told."""
    name = dsn.rpartition("/")[2]
    others = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
    for _ in range(200):
        if server.run_sql(others) == "0":
            break
    return int(server.run_sql(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}'"))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_entry_that_two_feeds_revise_at_once_keeps_both_revisions(
    emptied_dsn: str, workers: int
) -> None:
    """With legacy_guid_across_feeds, a feed may write about the entry of another."""

    async def story(store: PostgresStore) -> None:
        stores = [store, *[await PostgresStore.open(emptied_dsn) for _ in range(workers - 1)]]
        feeds = await some_feeds(store, 4)
        (first, lane), *_ = feeds
        entry = await read(store, first, [an_entry("a", "text 0")])
        await store.commit(a_refresh(first, 0, at=NOON, lane=lane, changes=entry))
        refreshes = [
            a_refresh(
                feed,
                number,
                at=NOON + HOUR * number,
                lane=lane,
                changes=await read(store, first, [an_entry("a", f"text {number}")]),
                whole=False,
            )
            for number, (feed, lane) in enumerate(feeds, start=1)
        ]

        commits = [stores[at % workers].commit(one) for at, one in enumerate(refreshes)]
        await asyncio.gather(*commits)

        for other in stores[1:]:
            await other.close()
        (kept,) = (await store.entries(EntryFilter())).items
        assert (kept.revisions, kept.seen_count) == (4, 5)
        texts = [one.summary for one in await store.revisions(kept.entry_uid)]
        assert sorted([*map(str, texts), str(kept.summary)]) == [f"text {n}" for n in range(5)]
        assert texts[0] == "text 0"

    tell(emptied_dsn, story)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_commit_whose_answer_was_lost_counts_once(
    postgres: PostgresServer, emptied_dsn: str, moment: Moment
) -> None:
    async def story(store: PostgresStore) -> None:
        refreshes = await documents(store, await some_feeds(store, 4), 1)
        proxy = CuttingProxy(postgres.port, moment)
        async with proxy.listening(emptied_dsn) as dsn:
            far = await PostgresStore.open(dsn)
            proxy.is_armed = True

            done = await asyncio.gather(*map(far.commit, refreshes))

            await far.close()
        assert proxy.cuts == 1
        assert {one.duplicate for one in done} == {moment == "after"}
        counts = await store.counts()
        assert (counts["fetches"], counts["entries"], counts["events"]) == (4, 8, 8)

    tell(emptied_dsn, story)


async def test_a_database_that_lost_its_tables_is_told_to_everybody_at_once(
    emptied_dsn: str,
) -> None:
    store = await PostgresStore.open(emptied_dsn)
    refreshes = await documents(store, await some_feeds(store, 5), 1)
    connection = await asyncpg.connect(emptied_dsn)
    await connection.execute("ALTER TABLE outbox RENAME TO elsewhere")

    done = await asyncio.gather(*map(store.commit, refreshes), return_exceptions=True)
    await connection.execute("ALTER TABLE elsewhere RENAME TO outbox")
    again = await asyncio.gather(*map(store.commit, refreshes))

    assert {one.reason for one in done if isinstance(one, StoreError)} == {"no-schema"}
    assert len({id(one) for one in done}) == 1  # the group was not told over one by one
    assert not any(one.duplicate for one in again)
    await connection.close()
    await store.close()
