"""`make soak`: `feedmill run` killed hundreds of times, with the checks of the tests after each kill.

    python tools/soak.py [--cycles 500] [--feeds 200]

It talks to loopback only and ends by itself; the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.kill_cycles import (
    RUN_FAILPOINTS,
    die_at,
    finish_and_check,
    kill_after_requests,
    moment_of,
)
from tests.support.living_feeds_publisher import pressing
from tests.support.run_process import SHORT_LEASE, Mill
from tests.support.store_ledger import Ledger


def main() -> int:
    """Kill, check, repeat; then settle and check everything once more."""
    parser = argparse.ArgumentParser(description="kill -9, again and again")
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--feeds", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feedmill-soak-") as folder:
        try:
            asyncio.run(_soak(Path(folder) / "home", options.cycles, options.feeds))
        except AssertionError as broken:
            print(f"a promise was broken: {broken}")
            return 1
    print(f"{options.cycles} kills: nothing lost, nothing twice, no feed requested too early")
    return 0


async def _soak(home: Path, cycles: int, feeds: int) -> None:
    async with pressing(feeds, min(feeds, 250)) as press:
        mill, ledger = Mill(home, **SHORT_LEASE), Ledger(home)
        await mill.subscribe(press.addresses)
        for cycle in range(cycles):
            if cycle % 2:  # at a failpoint, at a later passage in every round
                turn, number = divmod(cycle // 2, len(RUN_FAILPOINTS))
                failpoint = f"{RUN_FAILPOINTS[number]}@{turn % 5 + 1}"
                assert await die_at(mill, failpoint) == -signal.SIGKILL, failpoint
            else:
                async with await mill.start() as running:
                    await kill_after_requests(running, press, *moment_of(cycle))
            ledger.check(press)
            if cycle % 50 == 0:
                print(f"{cycle + 1} kills, {ledger.size()} entries, all in order", flush=True)
        await finish_and_check(mill, ledger, press)


if __name__ == "__main__":
    sys.exit(main())
