"""`feedmill run` killed with -9 at every failpoint and at random moments; then the store is checked.

It shows that nothing depends on what a process still wanted to do. It does not show a power cut:
the operating system lives on and keeps what was written to it. `make soak` does the same with
hundreds of kills.
"""

import signal
from pathlib import Path

from tests.support.kill_cycles import (
    RUN_FAILPOINTS,
    die_at,
    finish_and_check,
    kill_after_requests,
    moment_of,
)
from tests.support.living_feeds_publisher import pressing
from tests.support.run_process import SHORT_LEASE, Mill
from tests.support.store_ledger import Ledger, check_spacing
from tests.support.waiting import wait_until

FEEDS, HOSTS = 40, 32
RANDOM_KILLS = 3


async def test_run_killed_at_every_failpoint_loses_and_repeats_nothing(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = Mill(tmp_path / "home", **SHORT_LEASE), Ledger(tmp_path / "home")
        await mill.subscribe(press.addresses)

        for number, point in enumerate(RUN_FAILPOINTS):
            passage = (1, 3)[number % 2]
            assert await die_at(mill, f"{point}@{passage}") == -signal.SIGKILL, point
            ledger.check(press)

        await finish_and_check(mill, ledger, press)


async def test_run_killed_at_random_moments_loses_and_repeats_nothing(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        clusters = {"FEEDMILL_CLUSTERS_ENABLED": "true"}  # read the log beside the polls
        mill = Mill(tmp_path / "home", **SHORT_LEASE, **clusters)
        ledger = Ledger(tmp_path / "home")
        await mill.subscribe(press.addresses)

        for cycle in range(RANDOM_KILLS):
            async with await mill.start() as running:
                await kill_after_requests(running, press, *moment_of(cycle))
            ledger.check(press)

        await finish_and_check(mill, ledger, press)


async def test_feed_requested_just_before_a_crash_is_not_requested_early_after_it(
    tmp_path: Path,
) -> None:
    """The last feed of a lane is asked long after the claim: the run persisted with it must hold."""
    floor_sec, lanes = 7, 4

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
            await wait_until(lambda: all(len(m) > 1 for m in press.asked.values()), "another one")
            assert await running.stop() == 0

        check_spacing(press, floor_sec)
