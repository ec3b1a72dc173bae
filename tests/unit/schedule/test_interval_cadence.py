"""How often a feed publishes, and what its silence says."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Cadence
from feedmill.schedule.interval import (
    ewma_of_gaps,
    expected_gap_sec,
    measure_cadence,
    silence_sec,
)

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
CONFIG = ScheduleConfig()


def hours_ago(*hours: float) -> list[datetime]:
    return [NOW - timedelta(hours=hour) for hour in hours]


def test_the_cadence_is_the_ewma_of_the_gaps_and_the_newest_time() -> None:
    published = hours_ago(1, 3, 4, 5)

    cadence = measure_cadence(published, now=NOW, config=CONFIG)

    assert cadence is not None
    assert cadence.ewma_sec == pytest.approx(4_680)
    assert cadence.last_published_at == NOW - timedelta(hours=1)


def test_times_ahead_of_the_clock_do_not_count() -> None:
    published = hours_ago(-1_000, -0.001, 0, 1, 2)

    cadence = measure_cadence(published, now=NOW, config=CONFIG)

    assert cadence == Cadence(ewma_sec=3_600, last_published_at=NOW)


@pytest.mark.parametrize(
    "hours",
    [
        pytest.param((), id="no entry"),
        pytest.param((5,), id="one entry has no gap"),
        pytest.param((5, -5), id="one entry and a promise"),
    ],
)
def test_fewer_than_two_times_are_no_cadence(hours: tuple[float, ...]) -> None:
    published = hours_ago(*hours)

    cadence = measure_cadence(published, now=NOW, config=CONFIG)

    assert cadence is None


def test_only_the_newest_twenty_times_count() -> None:
    hourly = hours_ago(*range(20))
    older = hours_ago(1_000, 2_000, 3_000)

    ewma = ewma_of_gaps(hourly + older, alpha=0.3)

    assert ewma == pytest.approx(3_600)


def test_a_wider_window_sees_further_back() -> None:
    published = hours_ago(*range(20), 1_000)

    ewma = ewma_of_gaps(published, alpha=0.3, window=21)

    assert ewma == pytest.approx(3_600 + 0.7**19 * (981 - 1) * 3_600)


@given(
    st.lists(st.integers(0, 10**9), min_size=2, max_size=40).flatmap(
        lambda seconds: st.tuples(st.just(seconds), st.permutations(seconds))
    )
)
def test_the_order_of_the_entries_does_not_matter(orders: tuple[list[int], list[int]]) -> None:
    one, other = ([NOW - timedelta(seconds=second) for second in order] for order in orders)

    ewma = ewma_of_gaps(one, alpha=0.3)

    assert ewma == ewma_of_gaps(other, alpha=0.3)


@pytest.mark.parametrize(
    ("quiet_hours", "silence", "expected"),
    [
        pytest.param(0.5, None, 3_600, id="shorter than usual"),
        pytest.param(1, None, 3_600, id="exactly as long as usual"),
        pytest.param(11, 39_600, 0.3 * 39_600 + 0.7 * 3_600, id="longer than usual"),
        pytest.param(-1, None, 3_600, id="the clock went back"),
    ],
)
def test_silence_counts_once_it_is_longer_than_the_usual_gap(
    quiet_hours: float, silence: float | None, expected: float
) -> None:
    cadence = Cadence(ewma_sec=3_600, last_published_at=NOW - timedelta(hours=quiet_hours))

    assert silence_sec(cadence, now=NOW) == silence
    assert expected_gap_sec(cadence, now=NOW, alpha=0.3) == pytest.approx(expected)


def test_without_a_last_entry_there_is_no_silence() -> None:
    cadence = Cadence(ewma_sec=3_600)

    assert silence_sec(cadence, now=NOW) is None
    assert expected_gap_sec(cadence, now=NOW, alpha=0.3) == 3_600


@given(st.floats(0, 1e7), st.integers(0, 10**8), st.integers(0, 10**8))
def test_a_longer_silence_never_means_a_faster_feed(
    ewma_sec: float, quiet_sec: int, further_sec: int
) -> None:
    cadence = Cadence(ewma_sec=ewma_sec, last_published_at=NOW)
    sooner = NOW + timedelta(seconds=quiet_sec)

    expected = expected_gap_sec(cadence, now=sooner, alpha=0.3)

    assert expected >= ewma_sec * (1 - 1e-9)
    assert expected <= expected_gap_sec(
        cadence, now=sooner + timedelta(seconds=further_sec), alpha=0.3
    ) * (1 + 1e-9)
