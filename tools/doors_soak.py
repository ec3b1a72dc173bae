"""`make doors-soak`: kill the doors, their readers and the writers with -9, and compare the books.

    python tools/doors_soak.py [--seconds 180] [--writers 2] [--mills 1] [--feeds 40]

Real mills poll living feeds and other processes commit at full speed, all on one home folder,
while readers of every kind follow the log. In the end each reader's journal, without repetitions
by id, has to be the log: 1 to N, no gap, no stranger. It talks to loopback only and ends by itself;
the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.children.consume_events import KINDS
from tests.support.exactly_once_trial import Trial, trial
from tests.support.living_feeds_publisher import pressing

READERS = tuple(KINDS)


def main() -> int:
    """Kill until the time is up, then let everybody come to the end and compare."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="feedmill-doors-soak-") as folder:
        try:
            asyncio.run(_soak(Path(folder), options))
        except AssertionError as broken:
            print(f"a promise was broken: {broken}")
            return 1
        except KeyboardInterrupt:
            print("interrupted: nothing was compared")
            return 130
    return 0


async def _soak(folder: Path, options: argparse.Namespace) -> None:
    mills = options.mills
    async with (
        pressing(options.feeds, options.feeds) as press,
        trial(folder, writers=options.writers, mills=mills) as one,
    ):
        await one.start(press.addresses)
        until, turn = time.monotonic() + options.seconds, 0
        while time.monotonic() < until:
            await one.progress()
            await _strike(one, turn)
            turn += 1
        press.resting = True
        last = await one.settle(press)
        repeated = one.check()
    print(f"{sum(one.kills.values())} kills: {dict(sorted(one.kills.items()))}")
    print(f"{last:,} events, and each of {len(repeated)} readers has 1 to {last:,} in order")
    print(f"told again, and known by their ids: {repeated}")


async def _strike(one: Trial, turn: int) -> None:
    """Somebody else each time: the server alone, a reader, all readers, all writers, everybody."""
    match turn % 5:
        case 0 | 3:
            await one.kill("server")
        case 1:
            await one.kill(*(READERS[(turn // 5 + step) % len(READERS)] for step in (0, 3)))
        case 2:
            await one.kill("server", *READERS)
        case _:
            await one.kill_writers()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="kill -9 around the doors, again and again")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--writers", type=int, default=2, help="processes that only commit")
    parser.add_argument("--mills", type=int, default=1, help="processes that poll living feeds")
    parser.add_argument("--feeds", type=int, default=40)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
