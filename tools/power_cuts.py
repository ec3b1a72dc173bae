"""`make power-cuts`: cuts the power at recorded moments of a run and compares the log with what was told.

    python tools/power_cuts.py [--cuts 200] [--events 1500]

Writes, syncs and answers of one run are recorded for each value of `synchronous`. A cut keeps what was
synced, and any part of what was not. The exit code is 1 when a reader was told what is lost. It needs a C compiler
and talks to loopback only.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.power_cut.recording import compiler
from tests.support.power_cut.trial import cut_and_judge, record_run


def main() -> int:
    """Record, cut, judge; once for each setting."""
    parser = argparse.ArgumentParser(description="cut the power, again and again")
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--events", type=int, default=1_500)
    options = parser.parse_args()
    if compiler() is None:
        print("no C compiler was found (cc, gcc, clang): the recorder cannot be built")
        return 2
    for synchronous in ("normal", "full"):
        with tempfile.TemporaryDirectory(prefix="feedmill-power-cuts-") as folder:
            try:
                told = asyncio.run(_cut(Path(folder), options, synchronous))
            except AssertionError as broken:
                print(f"synchronous = {synchronous}: a promise was broken: {broken}")
                return 1
        print(
            f"synchronous = {synchronous}: {options.cuts} power cuts, {told} times an event had been told"
            " before one: 0 lost, 0 skipped by files, webhook and cursors",
            flush=True,
        )
    return 0


async def _cut(folder: Path, options: argparse.Namespace, synchronous: str) -> int:
    recorded = await record_run(folder, events=options.events, synchronous=synchronous)
    return await cut_and_judge(recorded, folder, options.cuts)


if __name__ == "__main__":
    sys.exit(main())
