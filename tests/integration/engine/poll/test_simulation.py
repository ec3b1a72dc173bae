"""Days of many feeds in virtual time, with faults and crashes: no item is lost, told twice or asked for too early.

`make simulation` runs the same for a year of 200 feeds.
"""

import asyncio
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.simulated_web import BEGIN, Simulated, check_gaps, simulate


def test_same_seed_gives_the_same_log_and_keeps_every_promise(tmp_path: Path) -> None:
    first, second = _run(tmp_path / "first"), _run(tmp_path / "second")

    assert first == second
    assert first.crashes > 0
    assert first.polls > 100


@pytest.mark.parametrize(
    ("hours", "end", "breach"),
    [
        pytest.param((0, 1, 2), 3, None, id="kept"),
        pytest.param((0, 1, 1.01), 2, "too early", id="again within the least interval"),
        pytest.param((0, 1, 60), 61, "forgotten", id="a pause in the middle"),
        pytest.param((0, 1), 50, "forgotten", id="never again"),
    ],
)
def test_feed_that_is_asked_too_early_or_forgotten_is_noticed(
    hours: tuple[float, ...], end: int, breach: str | None
) -> None:
    asked = [BEGIN + timedelta(hours=one) for one in hours]

    with pytest.raises(AssertionError, match=breach) if breach else nullcontext():
        check_gaps("a feed", asked, BEGIN + timedelta(hours=end), 300, 48 * 3_600)


def _run(home: Path) -> Simulated:
    return asyncio.run(simulate(home, seed="b", feeds=4, days=5))
