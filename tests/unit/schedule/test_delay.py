"""Hints are read leniently, kept with their source, and replaced only by a document."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Hint, Hints
from feedmill.schedule.delay import (
    merge_hints,
    read_skip_days,
    read_skip_hours,
    read_update_period,
)

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
YEAR = 31_536_000


def test_a_document_brings_all_hints_of_its_publisher_with_their_source() -> None:
    said = PublisherHints(
        ttl_minutes=60,
        skip_hours=(24, 3),
        skip_days=("sunday",),
        update_period="hourly",
        update_frequency=2,
    )

    hints = merge_hints(Hints(), publisher=said, seen_at=NOW)

    assert hints == Hints(
        ttl_sec=Hint(value=3_600, source="ttl", seen_at=NOW),
        update_period_sec=Hint(value=1_800, source="sy", seen_at=NOW),
        skip_hours=Hint(value=(0, 3), source="skipHours", seen_at=NOW),
        skip_days=Hint(value=("Sun",), source="skipDays", seen_at=NOW),
    )


def test_an_answer_without_a_document_leaves_the_publishers_hints_alone() -> None:
    stored = merge_hints(Hints(), publisher=PublisherHints(ttl_minutes=60), seen_at=NOW)

    hints = merge_hints(stored, seen_at=NOW + timedelta(days=1))

    assert hints == stored


def test_a_document_that_no_longer_asks_withdraws_the_hint() -> None:
    said = PublisherHints(ttl_minutes=60, skip_hours=(1,), skip_days=("Mon",))
    stored = merge_hints(Hints(), publisher=said, seen_at=NOW)

    hints = merge_hints(stored, publisher=PublisherHints(), seen_at=NOW)

    assert hints == Hints()


def test_what_the_server_said_is_kept_beside_what_the_publisher_said() -> None:
    stored = merge_hints(Hints(), publisher=PublisherHints(ttl_minutes=60), seen_at=NOW)
    later = NOW + timedelta(hours=1)

    hints = merge_hints(
        stored, seen_at=later, freshness_sec=600, freshness_source="expires", retry_after_sec=30
    )

    assert hints.ttl_sec == stored.ttl_sec
    assert hints.freshness_sec == Hint(value=600, source="expires", seen_at=later)
    assert hints.retry_after_sec == Hint(value=30, source="retry-after", seen_at=later)


def test_an_answer_that_is_stale_at_once_withdraws_an_earlier_freshness() -> None:
    stored = merge_hints(Hints(), seen_at=NOW, freshness_sec=600, retry_after_sec=30)

    hints = merge_hints(stored, seen_at=NOW, freshness_sec=0, retry_after_sec=0)

    assert hints == Hints()


@pytest.mark.parametrize(
    ("minutes", "seconds"),
    [
        pytest.param(1, 60, id="one minute"),
        pytest.param(0, None, id="nought asks for nothing"),
        pytest.param(-5, None, id="less than nothing asks for nothing"),
        pytest.param(525_601, YEAR, id="more than a year is a year"),
        pytest.param(10**400, YEAR, id="a number that fits no float is a year"),
    ],
)
def test_a_ttl_is_read_in_minutes_up_to_a_year(minutes: int, seconds: int | None) -> None:
    hints = merge_hints(Hints(), publisher=PublisherHints(ttl_minutes=minutes), seen_at=NOW)

    assert (hints.ttl_sec and hints.ttl_sec.value) == seconds


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        pytest.param(99.9, 99, id="whole seconds"),
        pytest.param(0.9, None, id="less than a second is nothing"),
        pytest.param(-1, None, id="already stale"),
        pytest.param(float("inf"), YEAR, id="for ever is a year"),
        pytest.param(float("nan"), None, id="no number"),
    ],
)
def test_a_freshness_is_kept_in_whole_seconds_up_to_a_year(
    lifetime: float, seconds: int | None
) -> None:
    hints = merge_hints(Hints(), seen_at=NOW, freshness_sec=lifetime)

    assert (hints.freshness_sec and hints.freshness_sec.value) == seconds


@pytest.mark.parametrize(
    ("period", "frequency", "seconds"),
    [
        pytest.param(None, None, None, id="nothing said"),
        pytest.param("hourly", None, 3_600, id="once is the default"),
        pytest.param(None, 4, 21_600, id="daily is the default"),
        pytest.param(" Daily\n", 1, 86_400, id="case and space do not matter"),
        pytest.param("weekly", 7, 86_400, id="seven times a week"),
        pytest.param("monthly", 1, 2_592_000, id="a month is thirty days"),
        pytest.param("yearly", 1, YEAR, id="a year is 365 days"),
        pytest.param("sometimes", 1, None, id="unknown period"),
        pytest.param("", 1, None, id="empty period"),
        pytest.param("hourly", 0, None, id="never is nonsense"),
        pytest.param("hourly", -1, None, id="negative is nonsense"),
        pytest.param("hourly", 3_601, None, id="oftener than every second"),
        pytest.param("hourly", 10**400, None, id="a number that fits no float"),
    ],
)
def test_the_syndication_module_is_read_as_seconds(
    period: str | None, frequency: int | None, seconds: int | None
) -> None:
    read = read_update_period(period, frequency)

    assert read == seconds


@pytest.mark.parametrize(
    ("hours", "read"),
    [
        pytest.param((3, 1, 3), (1, 3), id="sorted, once each"),
        pytest.param((24,), (0,), id="24 is midnight"),
        pytest.param((23, 25, -1), (23,), id="hours that do not exist are dropped"),
        pytest.param((), (), id="none"),
    ],
)
def test_skip_hours_are_hours_of_the_day(hours: tuple[int, ...], read: tuple[int, ...]) -> None:
    result = read_skip_hours(hours)

    assert result == read


@pytest.mark.parametrize(
    ("names", "read"),
    [
        pytest.param(("Sunday", "Monday"), ("Mon", "Sun"), id="in the order of the week"),
        pytest.param(("MON", "tue", " Wed. "), ("Mon", "Tue", "Wed"), id="short, any case"),
        pytest.param(("Thurs", "Tues"), ("Tue", "Thu"), id="in-between abbreviations"),
        pytest.param(("wednesday",), ("Wed",), id="the longest name in full"),
        pytest.param(("Samstag", "Su", "", "Mondays"), (), id="names that are no day"),
    ],
)
def test_skip_days_are_days_of_the_week(names: tuple[str, ...], read: tuple[str, ...]) -> None:
    result = read_skip_days(names)

    assert result == read


@given(
    st.builds(
        PublisherHints,
        ttl_minutes=st.none() | st.integers(),
        skip_hours=st.lists(st.integers()).map(tuple),
        skip_days=st.lists(st.text()).map(tuple),
        update_period=st.none() | st.text(),
        update_frequency=st.none() | st.integers(),
    )
)
def test_whatever_a_publisher_says_becomes_hints_that_a_store_can_keep(
    said: PublisherHints,
) -> None:
    hints = merge_hints(Hints(), publisher=said, seen_at=NOW)

    assert msgspec.json.decode(msgspec.json.encode(hints), type=Hints) == hints
    assert all(0 < hint.value <= YEAR for hint in (hints.ttl_sec, hints.update_period_sec) if hint)
