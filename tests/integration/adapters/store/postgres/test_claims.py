"""Claims by many at once on PostgreSQL: no lane twice, none forgotten, none late, at a steady cost."""

import asyncio
import json
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
from msgspec.structs import replace
from tests.support.postgres_contention import Held, stores, until_it_waits
from tests.support.sample_refreshes import (
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    read,
)
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import start_child

from feedmill.adapters.store.postgres import claims
from feedmill.adapters.store.postgres.claims import ClaimPlanner, ShardSearch, shards_of_worker
from feedmill.adapters.store.postgres.lanes import LaneSettings, limit_host
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.lanes import ClaimTerms, ReleasedLane, shard_of
from feedmill.adapters.store.tables.running.workers import save_worker
from feedmill.adapters.store.tables.subscriptions.feeds import add_feed
from feedmill.model.running.worker import Worker

MINUTE = timedelta(minutes=1)
PACING = LaneSettings()
HOSTS = 30
_SHARD, _LANES, _TURNS = 5, 40, 50


def test_eight_tasks_in_each_of_two_processes_share_the_lanes_and_starve_none(
    migrated_dsn: str,
) -> None:
    async def prepare() -> None:
        async with stores(migrated_dsn) as (store,):
            for number in range(HOSTS * 2):
                await store.add_feed(new_feed(number, host=f"host{number % HOSTS}.example"))
            await store.database.write(
                lambda c: c.execute("CREATE TABLE hands (lane_id bigint PRIMARY KEY)")
            )

    asyncio.run(prepare())
    processes = [start_child("claim_lanes_postgres", migrated_dsn, one) for one in ("one", "two")]

    said = [process.communicate(timeout=HANG_GUARD_SEC)[0].split() for process in processes]

    assert [process.returncode for process in processes] == [0, 0]
    held = Counter(said[0]) + Counter(said[1])
    assert len(held) == HOSTS
    assert all(lanes for lanes in said)

    async def check() -> None:
        async with stores(migrated_dsn) as (store,):
            assert await store.workers() != ()
            assert all(view.lanes == () for view in await store.workers())
            assert (
                await store.database.read(lambda c: c.fetchval("SELECT count(*) FROM hands")) == 0
            )

    asyncio.run(check())


async def test_what_somebody_is_about_to_claim_is_passed_by_and_not_waited_for(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        for number in range(4):
            await one.add_feed(new_feed(number))
        terms = ClaimTerms("one", NOON, NOON + timedelta(seconds=60), 2, 9)
        half = Held(one.database, lambda c: claims.claim(c, ClaimPlanner(), terms))
        await half.worked()

        rest = await claim_all(two, "two")
        await half.commit()

        assert len(rest) == 2
        views = {view.name: len(view.lanes) for view in await two.workers()}
        assert views == {"one": 2, "two": 2}


async def test_a_feed_added_while_its_lane_is_given_back_does_not_sleep_with_it(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        await one.add_feed(new_feed(1, host="one.example"))
        (claim,) = await claim_all(one)
        adding = await Held(
            two.database, lambda c: two.queries.run(c, add_feed(new_feed(2, host="one.example")))
        ).worked()

        release = asyncio.create_task(one.release(claim.lane, claim.lane.pace, now=NOON))
        await until_it_waits(two.database, release)
        await adding.commit()
        await release

        assert await one.next_due_at() == NOON


async def test_a_feed_made_due_while_its_lane_is_given_back_does_not_sleep_with_it(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        feed, _ = await one.add_feed(new_feed())
        (claim,) = await claim_all(one)
        back = await Held(
            one.database, lambda c: claims.release(c, ReleasedLane(claim.lane, claim.lane.pace))
        ).worked()

        due = asyncio.create_task(two.make_due([feed.id], NOON + MINUTE))
        await until_it_waits(two.database, due)
        await back.commit()

        assert await due == 1
        assert await one.next_due_at() == NOON + MINUTE


async def test_a_pause_and_a_release_at_the_same_time_leave_the_pause(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        feed, _ = await one.add_feed(new_feed())
        (claim,) = await claim_all(one)
        until = NOON + HOUR * 5
        pause = await Held(
            two.database, lambda c: limit_host(c, feed.url, until, "asked", PACING)
        ).worked()

        release = asyncio.create_task(one.release(claim.lane, claim.lane.pace, now=NOON))
        await until_it_waits(two.database, release)
        await pause.commit()
        await release

        pace = await two.host_pace(feed.url)
        assert pace is not None
        assert (pace.next_ok_at, pace.blocked_reason) == (until, "asked")
        assert await one.next_due_at() == until


async def test_who_lost_its_lane_can_neither_hold_nor_commit_nor_release_it(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (stopped, other):
        feed, _ = await stopped.add_feed(new_feed())
        (old,) = await claim_all(stopped, "stopped")
        changes = await read(stopped, feed, [an_entry("a")])
        later = old.until + HOUR
        (new,) = await claim_all(other, "other", now=later)

        late = a_refresh(feed, 1, at=later, lane=old.lane, changes=changes)
        renewed = await stopped.renew(old.lane, owner="stopped", until=later + HOUR)
        committed = await stopped.commit(late)
        await stopped.release(old.lane, old.lane.pace, now=later)

        assert (renewed, committed.fenced) == (False, True)
        assert (await other.counts())["entries"] == 0
        assert await other.renew(new.lane, owner="other", until=later + HOUR)


async def test_own_shards_come_first_and_idle_hands_take_what_is_others(emptied_dsn: str) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        for number in range(40):
            await one.add_feed(new_feed(number))
        for store, name in ((one, "one"), (two, "two"), (one, "one")):
            worker = Worker(name=name, role="worker", version="1", started_at=NOON, seen_at=NOON)
            await store.save_worker(worker)
        own = shards_of_worker("one", ("one", "two"))
        hosts = [f"host{number}.example" for number in range(40)]
        mine = {host for host in hosts if shard_of(host) in own}
        assert 0 < len(mine) < 40

        first = await claim_all(one, "one", lanes=len(mine))
        stolen = await claim_all(one, "one")

        assert {claim.lane.key for claim in first} == mine
        assert {claim.lane.key for claim in stolen} == set(hosts) - mine


async def test_a_worker_that_drains_or_fell_silent_has_no_shards(emptied_dsn: str) -> None:
    async with stores(emptied_dsn) as (store,):
        base = Worker(name="one", role="worker", version="1", started_at=NOON, seen_at=NOON)
        await store.save_worker(base)
        others = {
            "draining": {"draining": True},
            "api": {"role": "api"},
            "silent": {"seen_at": NOON - timedelta(seconds=16)},
            "late": {"seen_at": NOON - timedelta(seconds=15)},
        }
        for name, fields in others.items():
            other = replace(base, name=name, **fields)  # type: ignore[arg-type]  # as the table says
            await store._write(partial(save_worker, other))

        live = await store._write(lambda: save_worker(base))

        assert live == ("late", "one")


async def test_behind_a_pooler_the_whole_schedule_works_without_anything_that_a_session_keeps(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2, pooled=True, connections=2) as (one, two):
        feed, _ = await one.add_feed(new_feed())
        (claim,) = await claim_all(one)
        await two.limit_host(feed.url, NOON + HOUR, "asked")
        assert await one.renew(claim.lane, owner="me", until=claim.until + MINUTE, feeds=[feed.id])
        await one.release(claim.lane, claim.lane.pace, now=NOON, deferred=[(feed.id, NOON)])
        await two.make_due(None, NOON)

        assert await two.next_due_at([feed.id]) == NOON + HOUR
        (again,) = await claim_all(two, now=NOON + HOUR)
        assert again.scheduled_at == (NOON,)
        kept = "SELECT count(*) FROM pg_prepared_statements"
        assert await one.database.read(lambda c: c.fetchval(kept)) == 0
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert await one.database.read(lambda c: c.fetchval(locks)) == 0


async def test_a_lane_below_the_mark_is_found_by_the_very_next_claim_that_finds_nothing(
    emptied_dsn: str,
) -> None:
    async with stores(emptied_dsn, 2) as (one, two):
        await one.add_feed(new_feed(1))
        await claim_all(one)  # all there is: the marks stand at noon

        await two.add_feed(new_feed(2, at=NOON - HOUR))

        (found,) = await claim_all(one)
        assert found.scheduled_at == (NOON - HOUR,)


async def test_a_long_transaction_of_somebody_else_does_not_make_claims_dear(
    migrated_dsn: str,
) -> None:
    """Dead entries pile up at the head of the index; the marks let a claim begin behind them."""

    async with stores(migrated_dsn) as (store,):
        await store.database.write(_make_lanes)
        report = await asyncpg.connect(migrated_dsn)
        reading = report.transaction(isolation="repeatable_read")
        await reading.start()
        await report.fetchval("SELECT count(*) FROM lanes")
        for number in range(_TURNS):
            await store.database.write(partial(_turn, number=number))
        await claim_all(store)
        (search,) = store._planner.searches(micros(NOON))

        marked = await _buffers(store, ShardSearch([_SHARD], search.low))
        swept = await _buffers(store, ShardSearch([_SHARD], 0))
        await reading.rollback()
        await report.close()

        assert swept > _LANES * _TURNS / 2  # every dead row is looked at
        assert marked * 20 < swept


async def _turn(connection: PgConnection, number: int) -> None:
    """Claim every lane once more; what it leaves lies far apart, as where many workers write."""
    at = micros(NOON - HOUR) + number
    await connection.execute("UPDATE lanes SET claim_at = $1 + lane_id * 1000", at)


async def _make_lanes(connection: PgConnection) -> None:
    await connection.execute(
        "INSERT INTO lanes (shard, host, lane_key, claim_at, gap_ms)"
        " SELECT $1, 'host' || n, 'host' || n, 0, 0 FROM generate_series(1, $2) AS n",
        _SHARD,
        _LANES,
    )


async def _buffers(store: PostgresStore, search: ShardSearch) -> int:
    """How many pages a claim has to look at."""
    now, until = micros(NOON), micros(NOON + MINUTE)

    async def explain(connection: PgConnection) -> Any:
        # A table of a few pages would be read as a whole; real ones never are.
        for way in ("seqscan", "bitmapscan", "sort"):
            await connection.execute(f"SET LOCAL enable_{way} = off")
        explained = await connection.fetchval(
            f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {claims._LEASE_DUE}",
            until,
            "me",
            now,
            50,
            search.shards,
            search.low,
        )
        (plan,) = json.loads(explained)
        return plan["Plan"]

    plan = await store.database.write(explain)
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def test_schedule_of_a_feed_that_is_gone_is_claimed_as_damaged_and_waits_like_any_other(
    migrated_dsn: str,
) -> None:
    async def rename(connection: PgConnection, old: int, new: int) -> None:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("UPDATE feed_sched SET feed_no = $2 WHERE feed_no = $1", old, new)

    async with stores(migrated_dsn) as (store,):
        kept, _ = await store.add_feed(new_feed(1, host="one.example"))
        await store.add_feed(new_feed(2, host="two.example"))
        await store.database.write(partial(rename, old=2, new=7))

        found = [*await claim_all(store, lanes=1), *await claim_all(store, lanes=1)]

        assert [feed.id for claim in found for feed in claim.feeds] == [kept.id]
        assert [one.why for claim in found for one in claim.damaged] == [
            "feed_sched: the row with feed_no 7 belongs to no feed"
        ]
        assert await claim_all(store, lanes=1) == ()
        await store.database.write(partial(rename, old=7, new=2))
