"""Days of many feeds in virtual time, with faults and crashes: no item is lost, told twice or asked for too early.

`make simulation` runs the same for a year of 200 feeds.
"""

import asyncio
from pathlib import Path

from tests.support.simulated_web import Simulated, simulate


def test_same_seed_gives_the_same_log_and_keeps_every_promise(tmp_path: Path) -> None:
    first, second = _run(tmp_path / "first"), _run(tmp_path / "second")

    assert first == second
    assert first.crashes > 0
    assert first.polls > 100


def _run(home: Path) -> Simulated:
    return asyncio.run(simulate(home, seed="b", feeds=4, days=5))
