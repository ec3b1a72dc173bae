"""Several workers on one store, restarted in turn, drained and killed: no feed is polled twice."""

import json
import signal
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.support.living_feeds_publisher import Press, pressing
from tests.support.run_process import SHORT_LEASE, Mill, Running
from tests.support.store_ledger import Ledger, ledger_of
from tests.support.waiting import wait_until

from feedmill_demo.server.script import no_answer

FEEDS, HOSTS = 8, 8
WORKER = ("worker",)
DRAINING = "SELECT draining FROM workers"
LANES = 4  # as many as one worker works at a time
KILLS = 2


async def test_workers_restarted_in_turn_hand_over_their_hosts_without_waiting_for_a_lease(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url)
        ledger = ledger_of(mill.home, store_url)
        await mill.subscribe(press.addresses)
        workers = [await started(mill, ledger) for _ in range(2)]
        await wait_until(lambda: least_asked(press) >= 1, "a run of every feed")

        for turn in (0, 1):
            assert await workers[turn].stop() == 0
            assert ledger.leases(workers[turn].process.pid) == 0
            asked = least_asked(press)
            await wait_until(lambda asked=asked: least_asked(press) > asked + 1, "the others")  # type: ignore[misc]  # a closure over the turn
            workers[turn] = await started(mill, ledger)
            await wait_until(
                lambda asked=asked: least_asked(press) > asked + 2,  # type: ignore[misc]
                "both again",
            )
        press.resting = True
        await wait_until(lambda: ledger.has(press), "every item")
        assert [await worker.stop() for worker in workers] == [0, 0]

        ledger.check(press)  # nobody was asked within its floor, no entry came twice
        asked_in_all = sum(map(len, press.asked.values()))
        assert ledger.number("SELECT count(*) FROM fetches") == asked_in_all
        assert ledger.number("SELECT count(*) FROM workers") == 0
        assert not mill.said("unexpected error")


async def test_draining_worker_is_listed_as_draining_and_a_second_signal_ends_it(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url)  # its drain would outlast the test
        ledger = ledger_of(mill.home, store_url)
        await mill.subscribe(press.addresses)
        press.answers = dict.fromkeys(range(FEEDS), no_answer())
        async with await mill.start(role=WORKER) as slow:
            await wait_until(lambda: ledger.leases(slow.process.pid) == LANES, "all places taken")
            await wait_until(lambda: ledger.rows(DRAINING) == [(0,)], "a sign of life")

            slow.signal(signal.SIGTERM)
            await wait_until(lambda: ledger.rows(DRAINING) == [(1,)], "the drain")
            assert [one["state"] for one in await listed(mill)] == ["draining"]
            assert slow.is_alive
            slow.signal(signal.SIGTERM)
            await slow.ended()

        assert ledger.leases(slow.process.pid) == 0
        assert ledger.rows(DRAINING) == []


async def test_killed_workers_lose_and_repeat_nothing(tmp_path: Path, migrated_dsn: str) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", migrated_dsn, **SHORT_LEASE)
        ledger = ledger_of(mill.home, migrated_dsn)
        await mill.subscribe(press.addresses)
        workers = [await started(mill, ledger) for _ in range(KILLS)]

        for cycle in range(KILLS):
            await some_requests(press, sha256(f"worker {cycle}".encode()).digest()[0] % 15 + 5)
            await workers[cycle].kill()
            workers[cycle] = await started(mill, ledger)
        press.resting = True
        await wait_until(lambda: ledger.has(press), "every item")
        assert [await worker.stop() for worker in workers] == [0] * KILLS

        ledger.check(press)
        code, printed = await mill.command("verify", "--json")
        assert (code, json.loads(printed)["problems"]) == (0, [])
        assert not mill.said("unexpected error")


async def test_lanes_of_a_killed_worker_are_listed_until_their_lease_ends(
    tmp_path: Path, store_url: str | None
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url)
        ledger = ledger_of(mill.home, store_url)
        await mill.subscribe(press.addresses)
        press.answers = dict.fromkeys(range(FEEDS), no_answer())
        async with await mill.start(role=WORKER) as dying:
            pid = dying.process.pid
            await wait_until(lambda: ledger.leases(pid) == LANES, "lanes")
            await wait_until(lambda: ledger.number("SELECT count(*) FROM workers") == 1, "a sign")

        (one,) = await listed(mill)
        code, table = await mill.command("workers", "--lanes")

        assert (one["role"], len(one["lanes"])) == ("worker", LANES)
        assert one["name"].endswith(f":{pid}")
        assert {lane["feeds"] for lane in one["lanes"]} == {1}
        assert code == 0
        assert table.decode().count(one["name"]) == LANES


async def started(mill: Mill, ledger: Ledger) -> Running:
    """A worker that is at work."""
    worker = await mill.start(role=WORKER)
    await wait_until(lambda: ledger.is_present(worker.process.pid), "a worker at work")
    return worker


async def listed(mill: Mill) -> list[dict[str, Any]]:
    """The workers, as `feedmill workers --json` lists them."""
    code, printed = await mill.command("workers", "--json")
    assert code == 0
    items: list[dict[str, Any]] = json.loads(printed)["items"]
    return items


async def some_requests(press: Press, number: int) -> None:
    """Wait for so many requests from now on."""
    before = sum(map(len, press.asked.values()))
    await wait_until(lambda: sum(map(len, press.asked.values())) >= before + number, "requests")


def least_asked(press: Press) -> int:
    """How often the feed was asked that was asked least."""
    return min((len(press.asked[number]) for number in range(FEEDS)), default=0)
