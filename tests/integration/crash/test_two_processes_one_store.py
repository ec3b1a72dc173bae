"""Two processes on one store, SQLite or PostgreSQL, and one that has to leave while it is busy."""

import asyncio
from pathlib import Path

from tests.support.living_feeds_publisher import Press, pressing
from tests.support.run_process import Mill
from tests.support.store_ledger import Ledger, ledger_of
from tests.support.waiting import wait_until

from feedmill_demo.server.script import no_answer

FEEDS, HOSTS = 30, 30


def test_two_mills_share_the_work_and_ask_every_feed_once_per_run(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story() -> None:
        async with pressing(FEEDS, HOSTS) as press:
            mill = Mill(tmp_path / "home", store_url)
            ledger = ledger_of(mill.home, store_url)
            await mill.subscribe(press.addresses)

            async with await mill.start() as one, await mill.start() as two:
                pids = (one.process.pid, two.process.pid)
                await wait_until(lambda: all(map(ledger.is_present, pids)), "both at work")
                await wait_until(lambda: least_asked(press) >= 4, "four runs of every feed")
                press.resting = True
                await wait_until(lambda: ledger.has(press), "every item")
                assert (await one.stop(), await two.stop()) == (0, 0)

            ledger.check(press)
            asked = sum(map(len, press.asked.values()))
            assert ledger.number("SELECT count(*) FROM fetches") == asked
            assert ledger.leases(one.process.pid) + ledger.leases(two.process.pid) == 0
            await deliver_the_rest(mill, ledger)

    asyncio.run(story())


def test_the_lanes_of_a_dead_mill_are_taken_over_when_their_lease_ends(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story() -> None:
        async with pressing(FEEDS, HOSTS) as press:
            mill = Mill(tmp_path / "home", store_url)
            ledger = ledger_of(mill.home, store_url)
            await mill.subscribe(press.addresses)
            async with await mill.start() as dying:
                pid = dying.process.pid
                await wait_until(lambda: ledger.leases(pid) > 0, "lanes of the first mill")
                press.answers = dict.fromkeys(range(FEEDS), no_answer())  # it holds what it has
                await wait_until(lambda: ledger.leases(pid) == 4, "as many lanes as it can work")
                await dying.kill()
            press.answers = {}
            left = ledger.leases(pid)  # 4, unless a fetch has just come to its limit
            assert left > 0

            async with await mill.start() as heir:
                assert ledger.leases(pid) == left  # theirs still, although they are dead
                await wait_until(lambda: ledger.leases(pid) == 0, "the end of the leases")
                press.resting = True
                await wait_until(lambda: ledger.has(press), "every item")
                assert await heir.stop() == 0

            ledger.check(press)
            await deliver_the_rest(mill, ledger)

    asyncio.run(story())


def test_a_mill_under_load_leaves_nothing_behind_when_it_is_told_to_stop(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story() -> None:
        async with pressing(FEEDS, HOSTS) as press:
            mill = Mill(
                tmp_path / "home",
                store_url,
                FETCH_TIMEOUT_MS="20000",
                FEEDMILL_RUN_LEASE_SEC="30",
                FEEDMILL_RUN_DRAIN_SEC="1",
                FEEDMILL_RUN_CONCURRENCY="16",
            )
            ledger = ledger_of(mill.home, store_url)
            await mill.subscribe(press.addresses)
            press.answers = dict.fromkeys(range(0, FEEDS, 3), no_answer())  # outlast every drain
            async with await mill.start() as running:
                await wait_until(
                    lambda: ledger.size() > FEEDS and len(press.asked) == FEEDS, "all at work"
                )

                assert await running.stop() == 0

            ledger.check(press)
            assert ledger.leases(running.process.pid) == 0
            press.answers, press.resting = {}, True
            async with await mill.start() as running:
                await wait_until(lambda: ledger.has(press), "every item")
                assert await running.stop() == 0
            ledger.check(press)
            await deliver_the_rest(mill, ledger)

    asyncio.run(story())


def least_asked(press: Press) -> int:
    """How often the feed was asked that was asked least."""
    return min((len(press.asked[number]) for number in range(FEEDS)), default=0)


async def deliver_the_rest(mill: Mill, ledger: Ledger) -> None:
    """What the last moment of a run left in the log goes out with the next."""
    if not ledger.is_delivered():
        async with await mill.start() as running:
            await wait_until(ledger.is_delivered, "the delivery")
            assert await running.stop() == 0
    ledger.check_delivered()
    assert not mill.said("surprised")
