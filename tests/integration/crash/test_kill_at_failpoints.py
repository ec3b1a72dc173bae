"""kill -9 at every named place and at moments of no kind; then the books are read.

It shows that nothing depends on what a process still wanted to do. It does not show a power cut:
the operating system lives on and keeps what was written to it.
"""

import asyncio
import signal
from hashlib import sha256
from pathlib import Path

import msgspec
from tests.support.living_feeds_publisher import Press, pressing
from tests.support.run_process import Mill, Running
from tests.support.store_ledger import Ledger, check_spacing
from tests.support.waiting import HANG_GUARD_SEC, wait_until

from feedmill.adapters.failpoints import POINTS

FEEDS, HOSTS = 70, 60
RANDOM_KILLS = 25
# A mill on one machine hands nothing to a bus; relays die at these in tests/integration/bus.
ON_ONE_MACHINE = tuple(point for point in POINTS if not point.startswith("bus-"))


def test_a_mill_that_dies_at_every_failpoint_loses_nothing_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with pressing(FEEDS, HOSTS) as press:
            mill, ledger = Mill(tmp_path / "home"), Ledger(tmp_path / "home")
            await mill.subscribe(press.addresses)

            for passage in (1, 3):
                for point in ON_ONE_MACHINE:
                    async with await mill.start(f"{point}@{passage}") as running:
                        await wait_until(
                            lambda: not running.is_alive, f"dying at {point}@{passage}"
                        )
                    assert running.process.returncode == -signal.SIGKILL, point
                    ledger.check(press)

            await settle(mill, ledger, press)

    asyncio.run(story())


def test_a_mill_that_is_killed_at_any_moment_loses_nothing_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with pressing(FEEDS, HOSTS) as press:
            mill, ledger = Mill(tmp_path / "home"), Ledger(tmp_path / "home")
            await mill.subscribe(press.addresses)

            for cycle in range(RANDOM_KILLS):
                async with await mill.start() as running:
                    await kill_after_requests(running, press, *moment_of(cycle))
                ledger.check(press)

            await settle(mill, ledger, press)

    asyncio.run(story())


def test_a_feed_that_was_asked_just_before_the_crash_is_not_asked_early_after_it(
    tmp_path: Path,
) -> None:
    """The last feed of a lane is asked long after the claim: the run persisted with it must hold."""
    floor_sec, lanes = 7, 4

    async def story() -> None:
        async with pressing(lanes * 3, lanes) as press:
            mill = Mill(
                tmp_path / "home",
                FETCH_TIMEOUT_MS="200",
                FEEDMILL_RUN_LEASE_SEC=str(floor_sec),  # it alone protects only the first feed
                FEEDMILL_HOST_MIN_GAP_MS="600",
                FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC=str(floor_sec),
                SCHED_MIN_INTERVAL_SEC=str(floor_sec),
                SCHED_MAX_INTERVAL_SEC=str(floor_sec),
            )
            await mill.subscribe(press.addresses)
            async with await mill.start() as running:
                press.on_request = lambda: (  # before it is answered
                    running.signal(signal.SIGKILL) if len(press.asked) == lanes * 3 else None
                )
                await wait_until(lambda: not running.is_alive, "a request to every feed")
            press.on_request = lambda: None

            async with await mill.start() as running:
                await wait_until(
                    lambda: all(len(m) > 1 for m in press.asked.values()), "another one"
                )
                assert await running.stop() == 0

            check_spacing(press, floor_sec)

    asyncio.run(story())


def moment_of(cycle: int) -> tuple[int, float]:
    """After how many requests, and how much later; drawn once for every cycle."""
    drawn = sha256(f"kill {cycle}".encode()).digest()
    return drawn[0] % 40 + 1, drawn[1] / 255 * 0.05


async def kill_after_requests(
    running: Running, press: Press, requests: int, later_sec: float
) -> None:
    """kill -9 in the middle of the work."""
    seen = 0
    enough = asyncio.Event()

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen >= requests:
            enough.set()

    press.on_request = count
    await asyncio.wait_for(enough.wait(), HANG_GUARD_SEC)
    press.on_request = lambda: None
    await asyncio.sleep(later_sec)
    assert running.is_alive
    await running.kill()


async def settle(mill: Mill, ledger: Ledger, press: Press) -> None:
    """Publish no more, let one mill catch up and leave, then read everything."""
    press.resting = True
    async with await mill.start() as running:
        await wait_until(lambda: ledger.has(press), "catching up")
        assert await running.stop() == 0
    ledger.check(press)
    assert ledger.has(press)
    ledger.check_delivered()
    assert ledger.leases(running.process.pid) == 0
    code, printed = await mill.command("verify", "--json")
    report = msgspec.json.decode(printed)
    assert (code, report["problems"]) == (0, [])
    assert not mill.said("surprised")
