"""Days of fetches and pieces of the log: made ahead by anybody, dropped as a whole, never waited for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from tests.support.sample_refreshes import DAY, HOUR, NOON, an_entry, new_feed, poll
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import hang_guard

from feedmill.adapters.store.postgres import partitions
from feedmill.adapters.store.postgres.pool import Database
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter

LATE = NOON + 60 * DAY
TABLES = "SELECT tableoid::regclass::text, count(*) FROM {} GROUP BY 1 ORDER BY 1"


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(dsn, connections=4)
    try:
        yield store
        assert await store.problems() == ()
    finally:
        await store.close()


async def places(store: PostgresStore, table: str) -> dict[str, int]:
    """How many rows lie in which partition."""
    rows = await store.database.read(lambda c: c.fetch(TABLES.format(table)))
    return {row[0]: row[1] for row in rows}


async def names(store: PostgresStore) -> list[str]:
    days = await store.database.read(partitions.fetch_partitions)
    return [one.name for one in days]


async def some_fetches(store: PostgresStore, feed: Feed) -> Feed:
    """A document, then two days of nothing new, four times a day."""
    feed = await poll(store, feed, 0, [an_entry("a")], at=NOON)
    for run in range(1, 9):
        feed = await poll(store, feed, run, None, at=NOON + 6 * HOUR * run)
    return feed


async def some_events(store: PostgresStore, count: int) -> None:
    events = [
        NewEvent(type="new_entry", feed_id="feed", occurred_at=NOON, data={"number": number})
        for number in range(count)
    ]
    await store.add_feed(new_feed(), events)
    assert await store.last_seq() == count


class TestMaking:
    async def test_the_days_to_come_and_the_next_numbers_are_made_once(
        self, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as store:
            assert await partitions.ensure_partitions(store.database, NOON) == 11
            assert await partitions.ensure_partitions(store.database, NOON) == 0
            assert await partitions.ensure_partitions(store.database, NOON + 2 * DAY) == 2

            made = await names(store)
            assert (made[0], made[-1], len(made)) == ("fetches_20260228", "fetches_20260310", 11)
            pieces = await store.database.read(partitions.event_partitions)
            assert [(one.low, one.high) for one in pieces] == [
                (0, 1_000_000),
                (1_000_000, 2_000_000),
            ]

    async def test_several_processes_may_make_them_at_once(self, migrated_dsn: str) -> None:
        databases = [
            await Database.open(migrated_dsn, connections=1, timeout_sec=30.0) for _ in range(5)
        ]

        made = await asyncio.gather(*(partitions.ensure_partitions(one, NOON) for one in databases))

        assert sorted(made) == [0, 0, 0, 0, 11]
        for one in databases:
            await one.close()

    async def test_rows_that_came_before_their_partition_move_into_it(
        self, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            feed = await some_fetches(store, feed)
            before = await store.fetches(feed.id)
            events = await store.events(after=0)
            assert await places(store, "fetches") == {"fetches_other": 9}

            await partitions.ensure_partitions(store.database, NOON + 2 * DAY)

            assert await places(store, "fetches") == {
                "fetches_other": 2,  # of the day before yesterday
                "fetches_20260302": 4,
                "fetches_20260303": 3,
            }
            assert await places(store, "events") == {"events_000000": len(events)}
            assert await store.fetches(feed.id) == before
            assert await store.events(after=0) == events

    async def test_a_writer_that_is_held_up_by_it_goes_on(self, migrated_dsn: str) -> None:
        async with opened(migrated_dsn) as store:
            feed, _ = await store.add_feed(new_feed())

            async def write() -> None:
                current = feed
                for run in range(30):
                    at = NOON + DAY * (run % 3) + HOUR * run / 30
                    current = await poll(store, current, run, None, at=at)

            await asyncio.gather(write(), partitions.ensure_partitions(store.database, NOON))

            assert sum((await places(store, "fetches")).values()) == 30

    def test_a_user_who_does_not_own_the_tables_works_without(
        self, postgres: PostgresServer, migrated_dsn: str
    ) -> None:
        postgres.run_sql("CREATE ROLE guest LOGIN")
        postgres.run_sql(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest",
            dsn=migrated_dsn,
        )

        async def story() -> None:
            guest = migrated_dsn.replace(f"//{postgres.user}@", "//guest@")
            async with opened(guest) as store:
                feed, _ = await store.add_feed(new_feed())
                await some_fetches(store, feed)

                assert await partitions.ensure_partitions(store.database, NOON) == 0
                gone = await store.purge(before=LATE, now=LATE)

                assert gone["fetches"] == 7

        try:
            asyncio.run(story())
        finally:
            postgres.run_sql("DROP OWNED BY guest", dsn=migrated_dsn)
            postgres.run_sql("DROP ROLE guest")


class TestDropping:
    async def test_an_old_day_goes_as_a_whole_and_what_must_stay_is_put_aside(
        self, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as store:
            await partitions.ensure_partitions(store.database, NOON + DAY)
            feed, _ = await store.add_feed(new_feed())
            feed = await some_fetches(store, feed)

            gone = await store.purge(before=NOON + 2 * DAY, now=NOON + 2 * DAY)

            assert gone["fetches"] == 7
            assert (await names(store))[0] == "fetches_20260303"
            assert await places(store, "fetches") == {"fetches_20260303": 1, "fetches_other": 1}
            left = (await store.fetches(feed.id)).items
            assert [one.outcome for one in left] == ["unchanged", "fresh"]
            assert (
                left[1].fetch_id
                == (await store.entries(EntryFilter())).items[0].raw_refs[0].fetch_id
            )
            again = await store.purge(before=NOON + 2 * DAY, now=NOON + 2 * DAY)
            assert again["fetches"] == 0

    async def test_a_day_of_which_too_much_must_stay_is_thinned(
        self, migrated_dsn: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(partitions, "MOST_KEPT", 0)
        monkeypatch.setattr(partitions, "PURGE_BATCH", 2)

        async with opened(migrated_dsn) as store:
            await partitions.ensure_partitions(store.database, NOON)
            feed, _ = await store.add_feed(new_feed())
            await some_fetches(store, feed)

            gone = await store.purge(before=LATE, now=NOON)

            assert gone["fetches"] == 7
            assert await places(store, "fetches") == {"fetches_20260301": 1, "fetches_20260303": 1}
            assert "fetches_20260302" not in await names(store)  # nothing of it had to stay

    async def test_a_long_reader_is_not_waited_for(self, migrated_dsn: str) -> None:
        async with opened(migrated_dsn) as store:
            await partitions.ensure_partitions(store.database, NOON)
            feed, _ = await store.add_feed(new_feed())
            await some_fetches(store, feed)
            there = await names(store)
            reader = await asyncpg.connect(migrated_dsn)
            transaction = reader.transaction()
            await transaction.start()
            await reader.fetch("SELECT * FROM fetches")

            async with hang_guard():
                held = await store.purge(before=LATE, now=NOON)
            assert (held["fetches"], await names(store)) == (0, there)

            await transaction.rollback()
            await reader.close()
            assert (await store.purge(before=LATE, now=NOON))["fetches"] == 7

    async def test_pieces_of_the_log_go_as_a_whole_from_its_beginning(
        self, migrated_dsn: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(partitions, "EVENTS_EACH", 10)

        async with opened(migrated_dsn) as store:
            await some_events(store, 35)
            await store.set_cursor("slow", 25)
            await partitions.ensure_partitions(store.database, NOON)
            assert await places(store, "events") == {
                "events_000000": 9, "events_000001": 10,
                "events_000002": 10, "events_000003": 6,
            }  # fmt: skip

            gone = await store.purge(before=LATE, now=LATE)

            assert gone["events"] == 25
            assert await places(store, "events") == {"events_000002": 4, "events_000003": 6}
            pieces = await store.database.read(partitions.event_partitions)
            assert [one.name for one in pieces] == [
                "events_000002", "events_000003", "events_000004",
            ]  # fmt: skip
            await store.set_cursor("slow", 35)
            assert (await store.purge(before=LATE, now=LATE))["events"] == 9
            assert [one.seq for one in await store.events(after=0)] == [35]

    async def test_an_old_event_behind_a_young_one_stays_so_that_there_is_no_hole(
        self, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as store:
            times = [NOON, LATE, NOON, NOON]
            events = [
                NewEvent(type="new_entry", feed_id="feed", occurred_at=at, data={}) for at in times
            ]
            await store.add_feed(new_feed(), events)
            await store.set_cursor("all", await store.last_seq())

            gone = await store.purge(before=NOON + DAY, now=NOON + DAY)

            assert gone["events"] == 1
            assert [one.seq for one in await store.events(after=0)] == [2, 3, 4]


class TestBesideARefresh:
    async def test_an_entry_that_somebody_is_writing_is_passed_by(self, migrated_dsn: str) -> None:
        async with opened(migrated_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            await poll(store, feed, 2, [], at=NOON + HOUR)
            writer = await asyncpg.connect(migrated_dsn)
            transaction = writer.transaction()
            await transaction.start()
            await writer.execute(
                "UPDATE entries SET last_seen = last_seen + 1 WHERE title = $1", "About a"
            )

            async with hang_guard():
                gone = await store.purge(before=LATE, now=LATE)

            await transaction.rollback()
            await writer.close()
            assert gone["entries"] == 1
            (left,) = (await store.entries(EntryFilter())).items
            assert left.title == "About a"

    async def test_two_purges_at_once_let_everything_go_once(self, migrated_dsn: str) -> None:
        async with opened(migrated_dsn) as store, opened(migrated_dsn) as other:
            feed, _ = await store.add_feed(new_feed())
            names = [f"e{number}" for number in range(40)]
            feed = await poll(store, feed, 1, [an_entry(name) for name in names], at=NOON)
            await poll(store, feed, 2, [], at=NOON + HOUR)

            both = await asyncio.gather(
                store.purge(before=LATE, now=LATE), other.purge(before=LATE, now=LATE)
            )
            rest = await store.purge(before=LATE, now=LATE)

            assert sum(one["entries"] for one in (*both, rest)) == 40
            assert (await store.counts())["tombstones"] == 40

    async def test_a_lane_that_a_feed_comes_to_meanwhile_stays(self, migrated_dsn: str) -> None:
        async with opened(migrated_dsn) as store:
            feed, _ = await store.add_feed(new_feed(1, host="h.example"))
            await store.remove_feed(feed.id)

            async def come() -> None:
                await store.add_feed(new_feed(2, host="h.example"))

            await asyncio.gather(come(), *(store.purge(before=NOON, now=LATE) for _ in range(3)))

            assert (await store.counts())["lanes"] == 1
