"""Tests of the figures of `make memory-hour`: slope, percentiles of stalls, the verdict."""

import pytest
from tools.memory_hour import Verdict, slope_mb_per_hour
from tools.stall_probe import percentile


def test_slope_is_per_hour() -> None:
    points = [(float(second), 100 + second / 1800) for second in range(0, 3600, 5)]

    slope = slope_mb_per_hour(points)

    assert slope == pytest.approx(2.0)


def test_slope_of_one_sample_is_zero() -> None:
    assert slope_mb_per_hour([(5.0, 80.0)]) == 0.0


def test_percentile_is_the_bucket_that_the_share_does_not_exceed() -> None:
    buckets = {"0": 98, "7": 1, "120": 1}

    found = [percentile(buckets, share) for share in (0.5, 0.99, 1.0)]

    assert found == [0, 7, 120]


@pytest.mark.parametrize(
    ("slope", "descriptors", "wal", "stall", "events", "kept"),
    [
        pytest.param(1.9, (40.0, 40.0), 42.0, 49, 1, True, id="every bar met"),
        pytest.param(2.0, (40.0, 40.0), 42.0, 10, 1, False, id="memory grows"),
        pytest.param(0.1, (40.0, 43.0), 42.0, 10, 1, False, id="descriptors grow"),
        pytest.param(0.1, (40.0, 40.0), 65.0, 10, 1, False, id="write-ahead log grows"),
        pytest.param(0.1, (40.0, 40.0), 42.0, 50, 1, False, id="event loop stalls"),
        pytest.param(0.1, (40.0, 40.0), 42.0, 10, 0, False, id="nothing was polled"),
    ],
)
def test_verdict_needs_every_bar(
    *,
    slope: float,
    descriptors: tuple[float, float],
    wal: float,
    stall: int,
    events: int,
    kept: bool,
) -> None:
    assert Verdict(slope, descriptors, wal, stall, events).is_kept is kept
