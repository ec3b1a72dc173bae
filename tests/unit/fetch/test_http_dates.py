"""HTTP-date in its three forms, and what stays no date."""

from datetime import UTC, datetime

import pytest

from feedmill.fetch.http_dates import parse_http_date

_NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
_RFC_EXAMPLE = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Sun, 06 Nov 1994 08:49:37 GMT", id="IMF-fixdate"),
        pytest.param("Sunday, 06-Nov-94 08:49:37 GMT", id="RFC 850"),
        pytest.param("Sun Nov  6 08:49:37 1994", id="asctime"),
        pytest.param("sun, 06 nov 1994 08:49:37 gmt", id="lower case"),
        pytest.param("Wed, 06 Nov 1994 08:49:37 GMT", id="wrong day name"),
        pytest.param("06 Nov 1994 08:49:37 GMT", id="no day name"),
        pytest.param("Sun, 6 Nov 1994 8:49:37 GMT", id="short day and hour"),
        pytest.param("Sun, 06-Nov-1994 08:49:37 GMT", id="dashes and a long year"),
        pytest.param("Sun, 06 Nov 1994 08:49:37", id="no zone"),
        pytest.param("Sun, 06 Nov 1994 08:49:37 UTC", id="UTC"),
        pytest.param("Sun, 06 Nov 1994 09:49:37 +0100", id="offset east"),
        pytest.param("Sun, 06 Nov 1994 03:19:37 -05:30", id="offset west"),
        pytest.param("1994-11-06T08:49:37Z", id="RFC 3339"),
        pytest.param("1994-11-06 10:49:37.123+02:00", id="RFC 3339 with offset and fraction"),
        pytest.param("  Sun,  06 Nov 1994   08:49:37 GMT ", id="white space"),
    ],
)
def test_every_spelling_of_the_same_instant_is_read(text: str) -> None:
    assert parse_http_date(text, _NOW) == _RFC_EXAMPLE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("0", id="zero"),
        pytest.param("-1", id="negative"),
        pytest.param("now", id="text"),
        pytest.param("Sun, 31 Nov 1994 08:49:37 GMT", id="no such day"),
        pytest.param("Sun, 06 Foo 1994 08:49:37 GMT", id="no such month"),
        pytest.param("Sun, 06 Nov 0000 08:49:37 GMT", id="no such year"),
        pytest.param("Sun, 06 Nov 1994 24:00:00 GMT", id="no such hour"),
        pytest.param("Sun, 06 Nov 1994 08:49:61 GMT", id="no such second"),
        pytest.param("Sun, 06 Nov 1994 08:49 GMT", id="no seconds"),
        pytest.param("Sun, 06 Nov 1994 08:49:37 EST", id="a zone that HTTP lacks"),
        pytest.param("Sun, 06 Nov 1994 08:49:37 +9900", id="no such offset"),
        pytest.param("Fri, 31 Dec 9999 23:59:60 GMT", id="past the end of time"),
        pytest.param("Sun, ０6 Nov 1994 08:49:37 GMT", id="full-width digit"),
        pytest.param("Wednesday, 29-Feb-23 08:49:37 GMT", id="no leap year in any century"),
        pytest.param("1994-11-06", id="a day is no instant"),
        pytest.param("1" * 100_000, id="a hundred thousand digits"),
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_http_date(text, _NOW) is None


def test_a_leap_second_is_the_next_second() -> None:
    moment = parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", _NOW)

    assert moment == datetime(2017, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "text", "year"),
    [
        pytest.param(_NOW, "Monday, 14-Oct-75 09:30:05 GMT", 2075, id="fifty years ahead"),
        pytest.param(_NOW, "Monday, 14-Oct-75 09:30:06 GMT", 1975, id="a second more"),
        pytest.param(_NOW, "Monday, 14-Oct-00 09:30:05 GMT", 2000, id="year 00"),
        pytest.param(_NOW, "Thursday, 29-Feb-24 00:00:00 GMT", 2024, id="leap day"),
        pytest.param(_NOW.replace(year=2095), "Monday, 14-Oct-05 00:00:00 GMT", 2105, id="ahead"),
        pytest.param(_NOW.replace(year=2040), "Monday, 14-Oct-95 00:00:00 GMT", 1995, id="behind"),
        pytest.param(
            datetime(2024, 2, 29, tzinfo=UTC), "Monday, 28-Feb-74 00:00:00 GMT", 2074,
            id="asked on a leap day",
        ),
    ],
)  # fmt: skip
def test_a_two_digit_year_is_the_latest_that_is_not_over_fifty_years_ahead(
    now: datetime, text: str, year: int
) -> None:
    moment = parse_http_date(text, now)

    assert moment is not None
    assert moment.year == year
