"""Two processes on one store, SQLite or PostgreSQL: shared work, a crash, and a stop under load."""

from collections.abc import Iterable
from pathlib import Path

from tests.support.living_feeds_publisher import Press, pressing
from tests.support.run_process import Mill
from tests.support.store_ledger import Ledger, ledger_of
from tests.support.waiting import wait_until

from feedmill_demo.server.script import no_answer

FEEDS, HOSTS = 10, 10
LANES = 4  # as many as one process works at a time


async def test_two_processes_share_the_feeds_and_poll_each_once_per_run(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url)
        ledger = ledger_of(mill.home, store_url)
        await mill.subscribe(press.addresses)

        async with await mill.start() as one, await mill.start() as two:
            pids = (one.process.pid, two.process.pid)
            await wait_until(lambda: all(map(ledger.is_present, pids)), "both at work")
            await wait_until(
                lambda: fewest_polls(press, range(FEEDS)) >= 2, "two runs of every feed"
            )
            press.resting = True
            await wait_until(lambda: ledger.has(press), "every item")
            assert (await one.stop(), await two.stop()) == (0, 0)

        ledger.check(press)
        asked = sum(map(len, press.asked.values()))
        assert ledger.number("SELECT count(*) FROM fetches") == asked
        assert ledger.leases(one.process.pid) + ledger.leases(two.process.pid) == 0
        await deliver_the_rest(mill, ledger)


async def test_lanes_of_a_killed_process_are_taken_over_only_when_their_lease_ends(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url)
        ledger = ledger_of(mill.home, store_url)
        await mill.subscribe(press.addresses)
        press.answers = dict.fromkeys(range(FEEDS), no_answer())  # it keeps what it has
        async with await mill.start() as killed:
            pid = killed.process.pid
            await wait_until(lambda: len(press.asked) == LANES, "a request in every lane")
            await killed.kill()
        held = set(press.asked)
        press.answers = {}

        async with await mill.start() as heir:
            others = set(range(FEEDS)) - held
            await wait_until(lambda: fewest_polls(press, others) >= 2, "polls of the others")
            assert ledger.leases(pid) == LANES
            assert [len(press.asked[number]) for number in held] == [1] * LANES
            ledger.expire_leases(pid)
            await wait_until(lambda: ledger.leases(pid) == 0, "the takeover")
            press.resting = True
            await wait_until(lambda: ledger.has(press), "every item")
            assert await heir.stop() == 0

        ledger.check(press)
        await deliver_the_rest(mill, ledger)


async def test_run_stopped_with_requests_under_way_gives_back_every_lane(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(
            tmp_path / "home", store_url, FEEDMILL_RUN_DRAIN_SEC="1", FEEDMILL_RUN_CONCURRENCY="12"
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


def fewest_polls(press: Press, feeds: Iterable[int]) -> int:
    """How often the feed was requested that was requested least."""
    return min(len(press.asked[number]) for number in feeds)


async def deliver_the_rest(mill: Mill, ledger: Ledger) -> None:
    """What the last moment of a run left in the log goes out with the next."""
    if not ledger.is_delivered():
        async with await mill.start() as running:
            await wait_until(ledger.is_delivered, "the delivery")
            assert await running.stop() == 0
    ledger.check_delivered()
    assert not mill.said("unexpected error")
