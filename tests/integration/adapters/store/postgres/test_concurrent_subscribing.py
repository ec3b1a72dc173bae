"""Subscriptions by many at once on PostgreSQL: one feed, however many spell it."""

import asyncio

from msgspec.structs import replace
from tests.support.postgres_contention import Held, stores, until_it_waits
from tests.support.sample_refreshes import NOON, a_refresh, an_entry, new_feed, poll

from feedmill.adapters.store.tables.subscriptions.feeds import add_feed
from feedmill.model.event import NewEvent
from feedmill.model.feed import NewFeed

SHARED = "https://shared.example/feed"


def spelled(number: int) -> NewFeed:
    """One feed under an address of its own, and one that all spellings share."""
    return replace(new_feed(number), aliases=(SHARED,))


async def test_who_spells_a_feed_otherwise_at_the_same_time_learns_that_it_is_there(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        first = await Held(
            one.database, lambda c: one.queries.run(c, add_feed(spelled(1)))
        ).worked()

        second = asyncio.create_task(two.add_feed(spelled(2)))
        await until_it_waits(one.database, second)
        await first.commit()
        feed, created = await second

        assert (feed.id, created) == (spelled(1).id, False)
        assert await two.find_feed([spelled(2).url]) == feed
        assert (await two.counts())["feeds"] == 1


async def test_who_waited_for_an_addition_that_failed_adds_the_feed(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        first = await Held(
            one.database, lambda c: one.queries.run(c, add_feed(spelled(1)))
        ).worked()

        second = asyncio.create_task(two.add_feed(spelled(2)))
        await until_it_waits(one.database, second)
        await first.roll_back()
        feed, created = await second

        assert (feed.id, created) == (spelled(2).id, True)
        assert (await two.counts())["feeds"] == 1


async def test_many_that_add_the_same_list_in_any_order_add_each_feed_and_its_event_once(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        hosts = 6

        async def add(store_number: int, at: int) -> bool:
            store = (one, two)[store_number % 2]
            number = at % hosts
            new = replace(
                new_feed(number, host=f"host{number % 2}.example"),
                id=f"feed-{store_number}-{at}",
                url=f"https://host{number % 2}.example/{number}?by={store_number}",
                aliases=tuple(
                    f"https://host{number % 2}.example/{number}?{place}" for place in range(4)
                )[:: 1 if store_number % 2 else -1],
            )
            event = NewEvent(type="feed.added", feed_id=new.id, occurred_at=NOON)
            return (await store.add_feed(new, [event]))[1]

        created = await asyncio.gather(
            *(add(writer, at + writer) for writer in range(4) for at in range(hosts))
        )

        assert sum(created) == hosts
        counts = await one.counts()
        assert (counts["feeds"], counts["events"]) == (hosts, hosts)


async def test_two_feeds_that_move_to_one_address_do_not_become_one(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        feeds = [(await one.add_feed(new_feed(number)))[0] for number in (1, 2)]
        moved = [replace(feed, url=SHARED) for feed in feeds]

        await asyncio.gather(one.change_feed(moved[0]), two.change_feed(moved[1]))

        after = [await one.feed(feed.id) for feed in feeds]
        assert sorted(feed.url == SHARED for feed in after if feed) == [False, True]


async def test_a_poll_and_a_subscriber_who_change_one_feed_at_once_wait_for_nobody_else(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        feed, _ = await one.add_feed(new_feed())
        runs = [a_refresh(feed, run, at=NOON.replace(minute=run)) for run in range(12)]

        await asyncio.gather(
            *(one.commit(run) for run in runs),
            *(two.change_feed(replace(feed, tags=(f"tag{n}",))) for n in range(12)),
            *(two.make_due(None, NOON) for _ in range(4)),
        )

        after = await one.feed(feed.id)
        assert after is not None
        assert len((await one.feeds(tag=after.tags[0])).items) == 1
        assert (await one.counts())["fetches"] == 12


async def test_a_removal_takes_everything_of_the_feed_and_nothing_of_others(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn) as (store,):
        kept, _ = await store.add_feed(new_feed(1))
        gone, _ = await store.add_feed(new_feed(2))
        await poll(store, kept, 1, [an_entry("kept")], at=NOON)
        await poll(store, gone, 1, [an_entry("gone")], at=NOON)

        assert await store.remove_feed(gone.id)

        for table in ("fetches", "entries", "entry_identities", "header_blocks", "feed_tags"):
            rows = await store.database.read(
                lambda c, table=table: c.fetchval(f"SELECT count(*) FROM {table}")  # type: ignore[misc]  # a lambda with a default
            )
            assert rows > 0, table
        left = "SELECT count(*) FROM {} WHERE feed_no NOT IN (SELECT feed_no FROM feeds)"
        for table in ("fetches", "entries", "header_blocks", "feed_tags", "feed_aliases"):
            orphans = left.format(table)
            assert await store.database.read(lambda c, q=orphans: c.fetchval(q)) == 0  # type: ignore[misc]  # likewise


async def test_what_postgresql_cannot_hold_in_a_text_is_replaced_and_still_found(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn) as (store,):
        odd = "https://odd.example/\x00feed"
        new = replace(new_feed(), title="A \x00 title", tags=("t\x00g",), aliases=(odd,))

        feed, created = await store.add_feed(new)
        again, repeated = await store.add_feed(replace(new, id="other"))

        assert (created, repeated) == (True, False)
        assert feed.title == "A \ufffd title"
        assert feed.tags == ("t\ufffdg",)
        assert await store.find_feed([odd]) == feed == again
