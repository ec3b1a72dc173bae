"""`make simulation`: a year of many feeds in virtual time, with seeded faults and crashes; each seed twice.

    python tools/simulation.py [--seeds 1] [--feeds 40] [--days 365]

A poll costs about 3 ms of CPU: a year of 40 feeds, twice, takes twenty minutes on a free core, and three seeds of 200 feeds five hours.
No item of a committed poll may be lost, stored or told twice, no feed asked too early or forgotten, and the same seed has to give the same
log. It uses no network and ends by itself; the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.simulated_web import Simulated, simulate


def main() -> int:
    """Run every seed twice and compare."""
    parser = argparse.ArgumentParser(description="simulate feeds in virtual time")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--feeds", type=int, default=40)
    parser.add_argument("--days", type=int, default=365)
    options = parser.parse_args()
    for number in range(options.seeds):
        began = time.process_time()
        try:
            first, second = (_run(f"seed {number}", options) for _ in range(2))
            assert first == second, f"the same seed gave {first} and {second}"
        except AssertionError as broken:
            print(f"seed {number}: a promise was broken: {broken}")
            return 1
        print(
            f"seed {number}: {first.polls:,} polls, {first.crashes} crashes, {first.entries:,} entries,"
            f" {first.events:,} events, twice the same log {first.digest[:12]}"
            f" ({time.process_time() - began:.0f} CPU-seconds)",
            flush=True,
        )
    return 0


def _run(seed: str, options: argparse.Namespace) -> Simulated:
    # In memory: nothing has to survive the simulation.
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with TemporaryDirectory(prefix="feedmill-simulation-", dir=shared) as folder:
        home = Path(folder) / "home"
        return asyncio.run(simulate(home, seed=seed, feeds=options.feeds, days=options.days))


if __name__ == "__main__":
    sys.exit(main())
