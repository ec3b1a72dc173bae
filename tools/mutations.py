"""`make mutations`: breaks a promise of the source in ten ways, and looks whether a test notices.

    python tools/mutations.py [--only TEXT]

Each change is made in a copy of the source, and the tests that guard it run against the copy: they have to fail. The exit
code is 1 when a change goes unnoticed, or when its place is not found any more.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parent.parent


class Mutation(NamedTuple):
    """A promise, how it is broken, and the tests that have to notice."""

    promise: str
    file: str
    old: str
    new: str
    tests: str


MUTATIONS: Final = (
    Mutation(
        "the log is synced before events are told",
        "adapters/store/sqlite/store.py",
        "await asyncio.to_thread(self._wal_sync.cover, seq)",
        "await asyncio.sleep(0)",
        "tests/integration/crash/test_power_cut.py",
    ),
    Mutation(
        "validators of a cut document are not kept",
        "engine/poll/fetch_record.py",
        '"validators": None if cut else',
        '"validators":',
        "tests/integration/engine/poll/test_refresh_http.py -k cut",
    ),
    Mutation(
        "the gap of a host is counted from the end of the last fetch",
        "schedule/host_pace.py",
        "return 0.0 if pace.next_ok_at is None else",
        "return 0.0 if pace.next_ok_at is not None else",
        "tests/unit/schedule/test_host_pace.py",
    ),
    Mutation(
        "private addresses are not dialled",
        "fetch/guard.py",
        "return not any(address in block for block in _IPV4_DENIED)",
        "return address.is_global",
        "tests/unit/fetch",
    ),
    Mutation(
        "a commit under a lost lane writes nothing",
        "adapters/store/sqlite/commit.py",
        "found[3] != lane.epoch",
        "found[3] is None",
        "tests/contracts/store/test_store.py -k sqlite",
    ),
    Mutation(
        "a run is committed once",
        "adapters/store/sqlite/commit.py",
        "    if found[4]:\n        return _DUPLICATE\n",
        "",
        "tests/contracts/store/test_store.py -k sqlite",
    ),
    Mutation(
        "a body ends at its limit",
        "adapters/http/response_buffer.py",
        "        if len(chunk) > left:\n",
        "        if left < 0:\n",
        "tests/integration/adapters/http/test_fetcher_hostile_servers.py",
    ),
    Mutation(
        "segments that this index never pointed into are not swept",
        "engine/maintain/retention.py",
        "unknown = segment.name not in released",
        "unknown = False",
        "tests/integration/engine/maintain/test_raw_store_raw_owner.py",
    ),
    Mutation(
        "a feed brings no more than its quota",
        "engine/documents/quota.py",
        "return change if self.takes(change.seen, is_new=True) else None",
        "return change",
        "tests/integration/engine/poll/test_quota.py -k sqlite",
    ),
    Mutation(
        "a signature is compared with the body",
        "push/hub.py",
        "return hmac.compare_digest(digest, match[2].lower())",
        "return bool(digest)",
        "tests/unit/push",
    ),
    Mutation(
        "large commits rest beside small ones",
        "adapters/store/sqlite/writer.py",
        "LARGE_REST_FACTOR: Final = 15.0",
        "LARGE_REST_FACTOR: Final = 0.0",
        "tests/integration/adapters/store/sqlite/test_writer.py",
    ),
    Mutation(
        "a search ends in time",
        "adapters/store/sqlite/run_query.py",
        "lambda: time.monotonic() > deadline",
        "lambda: False",
        "tests/unit/adapters/store/test_statements.py -k takes_too_long",
    ),
)


def main() -> int:
    """Try every mutation; the table says which were noticed."""
    parser = argparse.ArgumentParser(description="break promises and see whether tests notice")
    parser.add_argument("--only", default="", help="promises that contain this text")
    options = parser.parse_args()
    unnoticed = 0
    for mutation in MUTATIONS:
        if options.only in mutation.promise:
            result = _try(mutation)
            unnoticed += result != "noticed"
            print(f"{result:12} {mutation.promise}", flush=True)
    return 1 if unnoticed else 0


def _try(mutation: Mutation) -> str:
    with TemporaryDirectory(prefix="feedmill-mutation-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(_ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        file = source / "feedmill" / mutation.file
        text = file.read_text(encoding="utf-8")
        if text.count(mutation.old) != 1:
            return "NOT FOUND"
        file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*words, *mutation.tests.split()],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            check=False,
        )
    return "noticed" if done.returncode == 1 else "UNNOTICED"


if __name__ == "__main__":
    sys.exit(main())
