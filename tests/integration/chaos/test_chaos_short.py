"""`make chaos`, short: three workers on PostgreSQL, one killed, one suspended past its lease, one stopped."""

import asyncio
from pathlib import Path

from tests.support.servers.postgres import PostgresServer
from tools.chaos.books import evidence_of
from tools.chaos.judge import is_kept, judge, table
from tools.chaos.plan import Plan
from tools.chaos.scene import Scene, scene

READERS = ("cursor", "store")
# How long a drain takes is measured by `make chaos`; here it has to come to an end, and well.
PLAN = Plan(
    feeds=36,
    hosts=12,
    workers=3,
    lanes_each=6,
    timeout_ms=2_000,  # a busy publisher is no fault of a worker
    lease_sec=7.1,
    interval_sec=3,
    slow_sec=0.2,
    long_pause_sec=9,
    drain_sec=30.0,
)


def test_killed_suspended_and_stopped_workers_lose_nothing_and_do_nothing_twice(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    dsn = postgres.create_database()

    async def story() -> None:
        async with scene(tmp_path, PLAN, dsn, readers=READERS) as one:
            await strike(one)
            await one.settled()
            await one.end()
        findings = judge(await evidence_of(tmp_path, dsn, readers=READERS), PLAN)
        assert is_kept(findings), f"\n{table(findings)}"

    asyncio.run(story())
    postgres.drop_database(dsn)


async def strike(one: Scene) -> None:
    """Kill, suspend and stop workers, each while answers are under way."""
    await one.requests(30)
    await one.kill(await one.busiest(1))
    await one.hire()
    sleeper = await one.busiest(1)
    await one.stop(sleeper, PLAN.lease_sec + 2.5)
    await one.restart("store")
    await one.requests(20)
    await one.dismiss(next(name for name in one.workers if name != sleeper))
    await one.limited()
    await one.requests(30)
