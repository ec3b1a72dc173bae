"""`make soak`: many more kills than the tests have patience for, with the same books read after each.

    python tools/soak.py [--cycles 500] [--feeds 200]

It talks to loopback only and ends by itself; the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.integration.crash.test_kill_at_failpoints import kill_after_requests, moment_of, settle
from tests.support.living_feeds_publisher import pressing
from tests.support.run_process import Mill
from tests.support.store_ledger import Ledger

from feedmill.adapters.failpoints import POINTS


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
    print(f"{options.cycles} kills: nothing lost, nothing twice, nobody asked too early")
    return 0


async def _soak(home: Path, cycles: int, feeds: int) -> None:
    async with pressing(feeds, min(feeds, 250)) as press:
        mill, ledger = Mill(home), Ledger(home)
        await mill.subscribe(press.addresses)
        for cycle in range(cycles):
            point = POINTS[cycle // 2 % len(POINTS)] if cycle % 2 else None
            # One kill in two is at a failpoint, at a later passage in every round.
            passage = cycle // (2 * len(POINTS)) % 5 + 1
            async with await mill.start(f"{point}@{passage}" if point else None) as running:
                if point:
                    await running.ended()
                else:
                    await kill_after_requests(running, press, *moment_of(cycle))
            ledger.check(press)
            if cycle % 50 == 0:
                print(f"{cycle} kills, {ledger.size()} entries, all in order")
        await settle(mill, ledger, press)


if __name__ == "__main__":
    sys.exit(main())
