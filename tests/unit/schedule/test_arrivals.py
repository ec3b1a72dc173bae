"""Event times that cannot be fooled, the pace learnt from them, and when a poll is worth its price."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from feedmill.model.schedule import Arrivals
from feedmill.schedule.arrivals import (
    entry_rate,
    event_times,
    expected_unseen,
    forecast,
    hour_factors,
    learn_arrivals,
    weekday_factors,
)

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)  # a Tuesday
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AT = NOW.timestamp()


def published_every(gap: timedelta, count: int, *, until: datetime = NOW) -> Arrivals:
    times = [(until - gap * back).timestamp() for back in reversed(range(count))]
    return learn_arrivals(None, times, now=AT, window=20)


@pytest.mark.parametrize(
    ("stated", "counted"),
    [
        (NOW - HOUR, NOW - HOUR),
        (NOW - 3 * DAY, NOW - 2 * HOUR),
        (NOW + DAY, NOW),
        (None, NOW - HOUR),
    ],
    ids=["between the polls", "backdated", "in the future", "undated"],
)
def test_a_new_entry_came_out_between_the_previous_poll_and_now(
    stated: datetime | None, counted: datetime
) -> None:
    times = event_times([stated], previous_at=NOW - 2 * HOUR, now=NOW)

    assert times == (counted.timestamp(),)


def test_the_first_document_is_believed_but_for_the_future_and_what_has_no_date() -> None:
    times = event_times([NOW + DAY, None, NOW - DAY], previous_at=None, now=NOW)

    assert times == ((NOW - DAY).timestamp(), AT)


def test_a_clock_that_was_set_back_makes_everything_come_out_now() -> None:
    assert event_times([NOW], previous_at=NOW + DAY, now=NOW) == (AT,)


def test_entries_within_a_minute_are_one_event() -> None:
    known = learn_arrivals(None, [AT - 100, AT - 70, AT - 20], now=AT, window=3)

    assert (known.entries, known.events, known.last) == (3, 2, AT - 20)
    again = learn_arrivals(known, [AT - 10], now=AT, window=4)
    assert (again.entries, again.events, again.last, again.window) == (4, 2, AT - 20, 4)


def test_a_feed_without_dates_is_watched_from_its_first_poll_on() -> None:
    known = learn_arrivals(None, [], now=AT, window=5)
    later = learn_arrivals(known, [AT + 7_200], now=AT + 9_000, window=5)

    assert (known.opened, known.entries, known.events) == (AT, 0, 0)
    assert (later.opened, later.last, later.events) == (AT, AT + 7_200, 1)


def test_what_is_learnt_in_two_parts_is_what_is_learnt_at_once() -> None:
    times = [AT - back * 40_000.0 for back in reversed(range(30))]

    once = learn_arrivals(None, times, now=AT, window=20)
    half = learn_arrivals(None, times[:17], now=AT, window=20)
    twice = learn_arrivals(half, times[17:], now=AT, window=20)

    assert twice.counts == pytest.approx(once.counts, abs=0.01)
    assert twice.hours == pytest.approx(once.hours, abs=0.01)
    assert twice.weekdays == pytest.approx(once.weekdays, abs=0.01)


def test_the_rate_is_about_what_the_feed_publishes_and_falls_in_silence() -> None:
    known = published_every(HOUR, 500)

    assert entry_rate(known, AT) * 3_600 == pytest.approx(1.0, rel=0.3)
    rates = [entry_rate(known, AT + days * 86_400) for days in range(60)]
    assert all(later < earlier for earlier, later in pairwise(rates))


def test_factors_of_hours_and_days_average_one_and_name_the_busy_ones() -> None:
    known = published_every(DAY, 60)

    hours, days = hour_factors(known), weekday_factors(known)

    assert sum(hours) / 24 == pytest.approx(1.0)
    assert sum(days) / 7 == pytest.approx(1.0)
    assert max(range(24), key=hours.__getitem__) == NOW.hour
    assert hours[8] == pytest.approx(hours[10])
    assert hours[8] > hours[20]


def test_at_a_constant_rate_the_wait_follows_the_square_root_law() -> None:
    known = published_every(timedelta(minutes=61), 2_000)
    rate = entry_rate(known, AT)

    found = forecast(known, now=AT, price_sec=2_700.0, ceiling_sec=86_400.0)

    assert found.limit == "price"
    assert found.wait_sec == pytest.approx((2 * 2_700 / rate) ** 0.5, rel=0.1)
    four_times = forecast(known, now=AT, price_sec=4 * 2_700.0, ceiling_sec=86_400.0)
    assert four_times.wait_sec == pytest.approx(2 * found.wait_sec, rel=0.1)


def test_a_wait_ends_before_entries_roll_out_of_the_document_unseen() -> None:
    known = learn_arrivals(None, [AT - 600 * back for back in range(300)][::-1], now=AT, window=10)

    found = forecast(known, now=AT, price_sec=1e9, ceiling_sec=86_400.0)

    assert found.limit == "window"
    assert found.unseen == 5
    assert found.wait_sec == pytest.approx(5 / entry_rate(known, AT), rel=0.5)


def test_a_feed_that_is_hardly_worth_a_request_waits_for_the_ceiling() -> None:
    known = learn_arrivals(None, [AT - 400 * 86_400], now=AT, window=10)

    found = forecast(known, now=AT, price_sec=2_700.0, ceiling_sec=86_400.0)

    assert (found.limit, found.wait_sec) == ("ceiling", 86_400.0)
    week = expected_unseen(known, now=AT, wait_sec=7 * 86_400.0)
    assert week == pytest.approx(7 * found.unseen, rel=0.2)


def test_a_feed_of_business_hours_is_polled_rarely_at_night() -> None:
    noon = datetime(2025, 10, 13, 12, 0, tzinfo=UTC)
    times = sorted(
        (noon - day * DAY + hour * HOUR).timestamp()
        for day in range(90)
        for hour in (-2, -1, 0, 1, 2)
    )
    known = learn_arrivals(None, times, now=noon.timestamp(), window=20)

    def wait(at: datetime) -> float:
        return forecast(known, now=at.timestamp(), price_sec=2_700.0, ceiling_sec=86_400.0).wait_sec

    assert wait(noon + DAY - 2 * HOUR) < 2 * 3_600
    assert wait(noon + 6 * HOUR) > 8 * 3_600
