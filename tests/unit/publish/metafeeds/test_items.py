"""Periods of archive documents: every instant is in one of each length, and a name says which."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from feedmill.publish.metafeeds.items import periods_around, read_period


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]  # year, month, day …


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("2026", at(2026, 1, 1), at(2027, 1, 1)),
        ("2026-11", at(2026, 11, 1), at(2026, 12, 1)),
        ("2026-12", at(2026, 12, 1), at(2027, 1, 1)),
        ("2024-02-29", at(2024, 2, 29), at(2024, 3, 1)),
        ("2026-11-16T23", at(2026, 11, 16, 23), at(2026, 11, 17)),
        ("2026-11-16T09:59", at(2026, 11, 16, 9, 59), at(2026, 11, 16, 10)),
    ],
)
def test_name_says_where_a_period_begins_and_ends(
    name: str, start: datetime, end: datetime
) -> None:
    found = read_period(name)

    assert found is not None
    assert (found.start, found.end) == (start, end)
    assert found.is_shortest is (len(name) == 16)


@pytest.mark.parametrize(
    "name",
    [
        *("", "26", "2026-13", "2026-1", "2026-02-30", "2026-11-16T24", "2026-11-16 09"),
        *("1969", "9999", "9999-12", "9999-12-31", "२०२६", "2026-11-16T09:5", "+026"),
    ],
)
def test_anything_else_is_no_period(name: str) -> None:
    assert read_period(name) is None


def test_periods_around_an_instant_are_within_each_other() -> None:
    moment = datetime(2027, 1, 1, 0, 30, 5, tzinfo=timezone(timedelta(hours=1)))

    names = [period.name for period in periods_around(moment)]

    assert names == ["2026", "2026-12", "2026-12-31", "2026-12-31T23", "2026-12-31T23:30"]
