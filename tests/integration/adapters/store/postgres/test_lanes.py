"""Big hosts on PostgreSQL: several lanes that share one peace, and a number that can be changed."""

import asyncio
from datetime import timedelta

from msgspec.structs import replace
from tests.support.postgres_contention import Held, stores, until_it_waits
from tests.support.sample_refreshes import HOUR, NOON, a_refresh, claim_all, new_feed

from feedmill.adapters.store.postgres.lanes import LaneSettings, apply_lane_layout, lane_number
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.tables.lanes import shard_of
from feedmill.adapters.store.tables.subscriptions.feeds import add_feed
from feedmill.model.feed import Claim, HostPace

BIG = "big.example"
URL = f"https://{BIG}/feed/0"
FOUR = {BIG: 4}
SECOND = timedelta(seconds=1)


async def fill(store: PostgresStore, feeds: int = 40, host: str = BIG) -> None:
    for number in range(feeds):
        await store.add_feed(new_feed(number, host=host))


async def lanes(store: PostgresStore, host: str = BIG) -> dict[str, tuple[int, int]]:
    """The gap of each lane of a host, and the number of its feeds."""
    rows = await store.database.read(
        lambda c: c.fetch(
            "SELECT l.lane_key, l.gap_ms, count(s.feed_no) FROM lanes l"
            " LEFT JOIN feed_sched s ON s.lane_id = l.lane_id WHERE l.host = $1"
            " GROUP BY l.lane_id ORDER BY l.lane_key",
            host,
        )
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def ids(claims: tuple[Claim, ...]) -> set[str]:
    return {feed.id for claim in claims for feed in claim.feeds}


async def test_a_big_host_is_worked_in_lanes_that_together_keep_its_gap(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, lanes=FOUR, gap_ms=500) as (store,):
        await fill(store)
        await store.add_feed(new_feed(99, host="small.example"))

        claims = await claim_all(store)

        big = [claim for claim in claims if claim.lane.has_siblings]
        assert sorted(claim.lane.key for claim in big) == [f"{BIG}#{n}" for n in range(4)]
        assert {claim.lane.pace.gap_ms for claim in big} == {2_000}
        for claim in big:
            number = int(claim.lane.key[-1])
            assert {lane_number(feed.id, 4) for feed in claim.feeds} == {number}
        assert len(ids(claims)) == 41
        shards = "SELECT DISTINCT shard FROM lanes WHERE host = $1"
        rows = await store.database.read(lambda c: c.fetch(shards, BIG))
        assert [row[0] for row in rows] == [shard_of(BIG)]


async def test_a_pause_binds_every_lane_of_the_host_at_once(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, lanes=FOUR) as (store,):
        await fill(store)
        held = await claim_all(store, lanes=2)
        until = NOON + HOUR * 9

        await store.limit_host(URL, until, "rate-limited")

        assert await claim_all(store, "other", now=until - SECOND) == ()
        for claim in held:
            await store.release(claim.lane, claim.lane.pace, now=NOON)
        assert await claim_all(store, "other", now=until - SECOND) == ()
        again = await claim_all(store, "other", now=until)
        assert len(again) == 4
        assert {claim.lane.pace.blocked_reason for claim in again} == {"rate-limited"}


async def test_a_pause_that_one_lane_gives_back_binds_the_others(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, lanes=FOUR) as (store,):
        await fill(store)
        asked, calm, *_ = await claim_all(store, lanes=2)
        until = NOON + HOUR * 9
        pause = HostPace(gap_ms=4_000, next_ok_at=until, blocked_reason="rate-limited")

        await store.release(asked.lane, pace=pause, now=NOON)
        await store.release(calm.lane, replace(calm.lane.pace, next_ok_at=NOON + SECOND), now=NOON)

        assert await claim_all(store, now=until - SECOND) == ()
        assert len(await claim_all(store, now=until)) == 4
        known = await store.host_pace(URL)
        assert known is not None
        assert (known.next_ok_at, known.blocked_reason) == (until, "rate-limited")


async def test_an_ordinary_gap_of_one_lane_is_its_own(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, lanes=FOUR) as (store,):
        await fill(store)
        (claim,) = await claim_all(store, lanes=1)
        rested = replace(claim.lane.pace, next_ok_at=NOON + HOUR)

        await store.release(claim.lane, rested, now=NOON)

        assert len(await claim_all(store)) == 3


async def test_a_host_becomes_big_and_small_again_and_keeps_its_feeds(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        await fill(store)
        await store.add_feed(new_feed(99, host="small.example"))
    async with stores(emptied_dsn, lanes=FOUR) as (store,):
        split = await lanes(store)
        assert list(split) == [f"{BIG}#{n}" for n in range(4)]
        assert {gap for gap, _ in split.values()} == {4_000}
        assert sum(feeds for _, feeds in split.values()) == 40
        assert len(await claim_all(store, lanes=2)) == 2
    async with stores(emptied_dsn, lanes={BIG: 2}) as (store,):
        fewer = await lanes(store)
        assert [gap for gap, _ in fewer.values()] == [2_000, 2_000]
        assert sum(feeds for _, feeds in fewer.values()) == 40
    async with stores(emptied_dsn, lanes=None) as (store,):
        assert len(await lanes(store)) == 2  # who does not decide leaves it as it is
    async with stores(emptied_dsn, lanes={}) as (store,):
        assert await lanes(store) == {BIG: (1_000, 40)}
        assert await apply_lane_layout(store.database, LaneSettings()) == 0


async def test_the_new_lanes_rest_until_the_leases_on_the_old_ones_have_run_out(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, lanes=FOUR) as (old,):
        await fill(old)
        claims = await claim_all(old, "old")
        assert await apply_lane_layout(old.database, LaneSettings()) == 1
        feed = claims[0].feeds[0]

        async with stores(emptied_dsn) as (new,):
            until = claims[0].until
            await new.make_due(None, NOON)
            assert await claim_all(new, "new", now=until - SECOND) == ()
            late = a_refresh(feed, 1, at=NOON, lane=claims[0].lane)
            assert (await old.commit(late)).fenced
            assert not await old.renew(claims[1].lane, owner="old", until=until + HOUR)
            await old.release(claims[2].lane, claims[2].lane.pace, now=NOON)
            (whole,) = await claim_all(new, "new", now=until)
            assert (whole.lane.key, len(whole.feeds)) == (BIG, 40)


async def test_a_pause_outlives_a_change_of_the_lanes(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        await fill(store)
        await store.limit_host(URL, NOON + HOUR, "rate-limited")

        await apply_lane_layout(store.database, LaneSettings(lanes=FOUR))

        assert await claim_all(store, now=NOON + HOUR - SECOND) == ()
        assert len(await claim_all(store, now=NOON + HOUR)) == 4


async def test_two_processes_that_change_the_lanes_at_once_change_them_once(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        await fill(one)

        changed = await asyncio.gather(
            *(apply_lane_layout(store.database, LaneSettings(lanes=FOUR)) for store in (one, two))
        )

        assert sorted(changed) == [0, 1]
        assert len(await lanes(one)) == 4


async def test_the_lanes_that_stand_decide_and_not_the_settings_of_who_adds_a_feed(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, lanes=FOUR) as (store,):
        await store.add_feed(new_feed(0, host=BIG))
    async with stores(emptied_dsn) as (store,):
        for number in range(1, 20):
            await store.add_feed(new_feed(number, host=BIG))

        assert list(await lanes(store)) == [f"{BIG}#{n}" for n in range(4)]


async def test_a_lane_that_retention_took_is_made_again_and_rests_like_the_others(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, lanes=FOUR, gap_ms=500) as (store,):
        last = next(n for n in range(99) if lane_number(new_feed(n).id, 4) == 3)
        await store.add_feed(new_feed(last, host=BIG))
        await store.purge(before=NOON, now=NOON)
        assert list(await lanes(store)) == [f"{BIG}#3"]

        await fill(store, 20)

        assert {gap for gap, _ in (await lanes(store)).values()} == {2_000}
        assert len(await lanes(store)) == 4


async def test_a_feed_added_while_the_lanes_change_is_in_one_of_the_new_lanes(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        await fill(one, 10)
        adding = await Held(
            one.database, lambda c: one.queries.run(c, add_feed(new_feed(77, host=BIG)))
        ).worked()

        change = asyncio.create_task(apply_lane_layout(two.database, LaneSettings(lanes=FOUR)))
        await until_it_waits(one.database, change)
        later = asyncio.create_task(one.add_feed(new_feed(78, host=BIG)))
        await adding.commit()
        await asyncio.gather(change, later)

        found = await lanes(one)
        assert list(found) == [f"{BIG}#{n}" for n in range(4)]
        assert sum(feeds for _, feeds in found.values()) == 12
