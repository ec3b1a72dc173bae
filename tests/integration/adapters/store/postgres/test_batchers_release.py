"""Lanes given back together on PostgreSQL: one transaction, and each as if it were alone."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from benchmarks.bulk import fill_postgres
from msgspec.structs import replace
from tests.support.postgres_contention import Held, stores
from tests.support.sample_refreshes import HOUR, NOON, claim_all, new_feed

from feedmill.adapters.store.postgres import lanes
from feedmill.adapters.store.postgres.batchers import ReleaseBatcher
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, T
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.tables.lanes import ReleasedLane
from feedmill.errors import StoreError
from feedmill.model.feed import Claim, HostPace

LANES = 30


class CountedTransactions(Database):
    """Counts what it is asked to write."""

    count = 0

    async def write(self, job: ConnectionJob[T]) -> T:
        self.count += 1
        return await super().write(job)


async def leased(store: PostgresStore, lanes: int = LANES) -> tuple[Claim, ...]:
    """So many lanes of one feed each."""
    for number in range(lanes):
        await store.add_feed(new_feed(number))
    return await claim_all(store)


def given(claim: Claim, *deferred: tuple[str, datetime], **learnt: Any) -> ReleasedLane:
    return ReleasedLane(claim.lane, replace(claim.lane.pace, **learnt), deferred)


async def paces(store: PostgresStore, some: Sequence[Claim]) -> list[HostPace | None]:
    return [await store.host_pace(claim.feeds[0].url) for claim in some]


async def held_lanes(store: PostgresStore) -> int:
    return sum(len(view.lanes) for view in await store.workers())


async def test_lanes_that_are_given_back_at_once_share_transactions(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        found = await leased(store)
        database = await CountedTransactions.open(emptied_dsn, connections=2, timeout_sec=20)
        releaser = ReleaseBatcher(database)

        await asyncio.gather(*(releaser.release(given(one)) for one in found))

        assert len(found) == LANES
        assert database.count <= 2
        assert await held_lanes(store) == 0
        await releaser.close()
        await database.close()


async def test_each_lane_of_a_group_keeps_what_was_learnt_of_its_own_host(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        found = await leased(store, 3)
        until = NOON + HOUR * 3
        back = (
            (found[0], HostPace(gap_ms=10)),
            (found[1], HostPace(gap_ms=20, next_ok_at=until, blocked_reason="asked")),
            (found[2], HostPace(gap_ms=30, slow_down=2.0, failures=4, failing_with="x")),
        )

        await asyncio.gather(*(store.release(one.lane, pace, now=NOON) for one, pace in back))

        assert await paces(store, found) == [pace for _, pace in back]


async def test_a_lost_lane_among_others_is_left_to_whoever_has_it(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        found = await leased(one, 3)
        late = NOON + HOUR
        (taken, *_) = await claim_all(two, "another", now=late, lanes=1)
        backs = [one.release(c.lane, HostPace(gap_ms=7), now=late) for c in found]

        await asyncio.gather(*backs)

        (view,) = await two.workers()
        assert (view.name, [lane.key for lane in view.lanes]) == ("another", [taken.lane.key])
        changed = [claim for claim in found if claim.lane.id != taken.lane.id]
        assert await paces(one, changed) == [HostPace(gap_ms=7)] * 2
        assert await paces(one, [taken]) == [taken.lane.pace]


async def test_feeds_left_for_later_are_due_when_their_own_lane_said(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        found = await leased(store, 4)
        due = [NOON + HOUR * (number + 2) for number in range(4)]
        backs = [
            store.release(one.lane, one.lane.pace, now=NOON, deferred=((one.feeds[0].id, due_at),))
            for one, due_at in zip(found, due, strict=True)
        ]

        await asyncio.gather(*backs)

        feeds = [await store.feed(one.feeds[0].id) for one in found]
        assert [feed and feed.next_poll_at for feed in feeds] == due
        assert await store.next_due_at() == due[0]


async def test_a_pause_that_others_were_asked_for_meanwhile_stays_with_its_lane(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        found = await leased(one, 2)
        until = NOON + HOUR * 5
        url = found[0].feeds[0].url
        pause = await Held(
            two.database, lambda c: lanes.limit_host(c, url, until, "asked", LaneSettings())
        ).worked()

        backs = [asyncio.create_task(one.release(c.lane, c.lane.pace, now=NOON)) for c in found]
        await pause.commit()
        await asyncio.gather(*backs)

        first, second = await paces(two, found)
        assert first is not None
        assert (first.next_ok_at, first.blocked_reason) == (until, "asked")
        assert second == found[1].lane.pace


async def test_one_that_cannot_be_written_does_not_keep_the_others(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        found = await leased(store, 5)
        bad = HostPace(gap_ms=2**40)  # no integer of the database
        backs = [store.release(found[0].lane, bad, now=NOON)]
        backs += [store.release(one.lane, one.lane.pace, now=NOON) for one in found[1:]]

        outcomes = await asyncio.gather(*backs, return_exceptions=True)

        assert isinstance(outcomes[0], StoreError)
        assert outcomes[1:] == [None] * 4
        assert await held_lanes(store) == 1


async def test_closing_gives_back_what_was_asked_and_takes_nothing_more(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        found = await leased(store, 3)
        database = await Database.open(emptied_dsn, connections=1, timeout_sec=20)
        releaser = ReleaseBatcher(database, group_size=1)
        backs = [asyncio.create_task(releaser.release(given(one))) for one in found[:2]]
        await asyncio.sleep(0)  # they have asked
        backs[0].cancel()  # who stops waiting changes nothing

        await releaser.close()

        assert [view.lanes[0].key for view in await store.workers()] == [found[2].lane.key]
        with pytest.raises(StoreError) as caught:
            await releaser.release(given(found[2]))
        assert caught.value.reason == "closed"
        await database.close()


async def test_stores_filled_in_bulk_for_benchmarks_are_sound(emptied_dsn: str) -> None:
    await fill_postgres(emptied_dsn, 600, NOON)
    async with stores(emptied_dsn) as (store,):
        feed, is_new = await store.add_feed(new_feed(100_000))

        found = await claim_all(store, now=NOON + HOUR, lanes=1_000, feeds=1_000)

        assert is_new
        assert sum(len(one.feeds) for one in found) == 601
        assert feed.id in {one.id for claim in found for one in claim.feeds}
