"""Quiet windows: excluded hours and days, in GMT, left at the start of the next open hour."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.schedule.delay import (
    DAY_NAMES,
    excludes_everything,
    is_quiet,
    leave_quiet_window,
)

TUESDAY = datetime(2025, 10, 14, tzinfo=UTC)


def at(hour: int, minute: int = 0, second: int = 0, day: int = 14) -> datetime:
    return datetime(2025, 10, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("due", "hours", "days", "opened"),
    [
        pytest.param(at(3, 5), (), (), at(3, 5), id="no windows"),
        pytest.param(at(3, 5), (4,), (), at(3, 5), id="another hour"),
        pytest.param(at(3, 0), (3,), (), at(4), id="the first second is inside"),
        pytest.param(at(3, 59, 59), (3,), (), at(4), id="the last second is inside"),
        pytest.param(at(4, 0), (3,), (), at(4), id="the hour is over"),
        pytest.param(at(3, 5), (3, 4, 6), (), at(5), id="a run of hours ends at the first gap"),
        pytest.param(at(23, 5), (23, 0), (), at(1, day=15), id="over midnight"),
        pytest.param(at(10, day=18), (), ("Sat", "Sun"), at(0, day=20), id="over a weekend"),
        pytest.param(at(10, day=18), (0, 1), ("Sat", "Sun"), at(2, day=20), id="days, then hours"),
        pytest.param(at(23, 30, day=17), (23,), ("Sat",), at(0, day=19), id="hours, then days"),
        pytest.param(
            at(5), tuple(range(23)), DAY_NAMES[:6], at(23, day=19), id="one open hour a week"
        ),
        pytest.param(at(3, 5), tuple(range(24)), (), None, id="every hour"),
        pytest.param(at(3, 5), (), DAY_NAMES, None, id="every day"),
        pytest.param(at(3, 5), tuple(range(24)), ("Sat",), None, id="every hour and a day"),
    ],
)
def test_a_poll_moves_to_the_start_of_the_next_open_hour(
    due: datetime, hours: tuple[int, ...], days: tuple[str, ...], opened: datetime | None
) -> None:
    moved = leave_quiet_window(due, hours, days)

    assert moved == opened


def test_hours_and_days_are_read_in_gmt_whatever_the_zone_of_the_clock() -> None:
    kolkata = timezone(timedelta(hours=5, minutes=30))
    due = datetime(2025, 10, 15, 2, 0, tzinfo=kolkata)  # Tuesday 20:30 GMT

    moved = leave_quiet_window(due, (20,), ("Wed",))

    assert moved == at(21)


quiet_hours = st.sets(st.integers(0, 23))
quiet_days = st.sets(st.sampled_from(DAY_NAMES))


@given(st.integers(0, 7 * 86_400), quiet_hours, quiet_days)
def test_a_moved_poll_is_never_in_a_window_nor_earlier_nor_a_week_later(
    seconds: int, hours: set[int], days: set[str]
) -> None:
    due = TUESDAY + timedelta(seconds=seconds)

    moved = leave_quiet_window(due, hours, days)

    if moved is None:
        assert excludes_everything(hours, days)
    else:
        assert not is_quiet(moved, hours, days)
        assert due <= moved < due + timedelta(days=7)
