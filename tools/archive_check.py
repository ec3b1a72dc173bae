"""`make archive-check`: an archive of 40 pages, walked by `feedmill run` that is killed with -9 twice.

    python tools/archive_check.py [--pages 40] [--per-page 125] [--kills 2] [--gap-ms 200] [--store-url URL]

Real leases are waited for, so every gap between two requests is checked. It talks to loopback only and ends by
itself; the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.archive_walk import walk_killed


def main() -> int:
    """Walk, kill, walk on; then compare the publisher's book with the store."""
    parser = argparse.ArgumentParser(description="kill -9 in the middle of an archive")
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--per-page", type=int, default=125)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--gap-ms", type=int, default=200)
    parser.add_argument("--store-url", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feedmill-archive-") as folder:
        walked = asyncio.run(
            walk_killed(
                Path(folder) / "home",
                options.store_url,
                pages=options.pages,
                per_page=options.per_page,
                kills=options.kills,
                gap_ms=options.gap_ms,
                wait_for_leases=True,
            )
        )
    print(
        f"{sum(walked.titles.values())} entries, {len(walked.titles)} of them different;"
        f" {sum(walked.asked.values())} requests for {len(walked.asked)} pages, at most"
        f" {max(walked.asked.values())} for one; shortest gap {min(walked.gaps) * 1000:.0f} ms;"
        f" {walked.steps} steps; schedule {'as it was' if walked.same_schedule else 'changed'}"
    )
    try:
        walked.check(options.pages, options.per_page, options.kills, options.gap_ms)
    except AssertionError as broken:
        print(f"a promise was broken: {broken}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
