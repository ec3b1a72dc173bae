"""`make media-check`: 200 files of a podcast with every fault, downloaded by `feedmill run` that is killed with -9 at random.

    python tools/media_check.py [--files 200] [--kills 8] [--seed 1] [--only sqlite|postgres]

On SQLite by one process, on PostgreSQL by two; with room for everything, and with half of it. Ten feeds of the same host are
polled every second meanwhile, and before. It talks to loopback only and ends by itself; the exit code is 1 when a promise was broken.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own driver

from tests.support.media_drill import Drill, drill_media
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

_NEIGHBOURS = 10
_ALONE_SEC = 10.0
_BYTES_PER_SEC = 500_000  # slow enough for polls between two kills


def main() -> int:
    """Both stores, each with room for all files and for half of them."""
    parser = argparse.ArgumentParser(description="kill -9 while files are downloaded")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    options = parser.parse_args()
    broken = 0
    if options.only != "postgres":
        broken += _check(options, "sqlite", None)
    if options.only != "sqlite":
        with PostgresServer() as server:
            broken += _check(options, "postgres", server)
    return 1 if broken else 0


def _check(options: argparse.Namespace, name: str, server: PostgresServer | None) -> int:
    broken = 0
    for share in (2.0, 0.5):
        with tempfile.TemporaryDirectory(prefix="feedmill-media-") as folder:
            drill = asyncio.run(
                drill_media(
                    Path(folder) / "home",
                    None if server is None else migrated_database(server),
                    files=options.files,
                    kills=options.kills,
                    processes=1 if server is None else 2,
                    quota_share=share,
                    neighbours=_NEIGHBOURS,
                    alone_sec=_ALONE_SEC,
                    bytes_per_sec=_BYTES_PER_SEC,
                    seed=options.seed,
                )
            )
        print(f"{name}, room for {min(share, 1):.0%}: {_described(drill)}", flush=True)
        try:
            drill.check(strict=True)
        except AssertionError as problem:
            print(f"a promise was broken: {problem}", flush=True)
            broken += 1
    return broken


def _described(drill: Drill) -> str:
    states = [one.state for one in drill.items.values()]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    return (
        f"{counts} after {drill.kills} kills; {len(drill.files)} contents, {drill.most_bytes:,} of {drill.quota_bytes:,}"
        f" bytes at most; seconds between polls of a feed alone and beside downloads: {_gaps(drill.gaps_alone)}"
        f" and {_gaps(drill.gaps_beside)}"
    )


def _gaps(found: list[float]) -> str:
    if len(found) < 2:
        return "none"
    return f"{median(found):.2f} (95 %: {quantiles(found, n=20)[-1]:.2f})"


if __name__ == "__main__":
    sys.exit(main())
