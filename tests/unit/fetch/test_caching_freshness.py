"""How long an answer stays good (RFC 9111)."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.fetch.caching import (
    cache_directives,
    freshness_sec,
    freshness_source,
    lead_over_server,
)
from feedmill.model.fetch import Headers

_NOW = datetime(2025, 10, 14, 9, 30, 0, tzinfo=UTC)
_DATE = ("Date", "Tue, 14 Oct 2025 10:30:00 GMT")  # the server's clock is an hour ahead


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param((), None, id="nothing said"),
        pytest.param((("Cache-Control", "max-age=3600"),), 3600, id="max-age"),
        pytest.param((("Cache-Control", 'MAX-AGE="60"'),), 60, id="quoted, upper case"),
        pytest.param((("Cache-Control", "public, max-age=60, must-revalidate"),), 60, id="a list"),
        pytest.param((("Cache-Control", "public"), ("cache-control", "max-age=5")), 5, id="fields"),
        pytest.param((("Cache-Control", "max-age=3600"), ("Age", "3500")), 100, id="age"),
        pytest.param((("Cache-Control", "max-age=60"), ("Age", "100")), 0, id="older than that"),
        pytest.param((("Cache-Control", "max-age=60"), ("Age", "old")), 60, id="unreadable age"),
        pytest.param((("Cache-Control", "s-maxage=60"),), None, id="shared caches only"),
        pytest.param((("Cache-Control", "s-maxage=9, max-age=60"),), 60, id="both"),
        pytest.param((("Cache-Control", "no-cache, max-age=60"),), None, id="no-cache"),
        pytest.param((("Cache-Control", "no-store, max-age=60"),), None, id="no-store"),
        pytest.param((("Cache-Control", 'no-cache="set-cookie", max-age=60'),), None, id="for one"),
        pytest.param((("Cache-Control", "max-age=60, max-age=90"),), 0, id="twice"),
        pytest.param((("Cache-Control", "max-age=1.5"),), 0, id="fraction"),
        pytest.param((("Cache-Control", "max-age=-1"),), 0, id="negative"),
        pytest.param((("Cache-Control", "max-age"),), 0, id="no argument"),
        pytest.param((("Cache-Control", "max-age=٣"),), 0, id="other digits"),
        pytest.param((("Cache-Control", f"max-age={'9' * 5_000}"),), 2**31, id="overflow"),
        pytest.param((("Cache-Control", f"max-age={'0' * 5_000}9"),), 9, id="padded"),
        pytest.param((("Cache-Control", "max-age=4294967296"),), 2**31, id="over 31 bits"),
        pytest.param((("Expires", "Tue, 14 Oct 2025 11:00:00 GMT"), _DATE), 1800, id="Expires"),
        pytest.param((("Expires", "Tue, 14 Oct 2025 09:40:00 GMT"),), 600, id="no Date"),
        pytest.param((("Expires", "Tue, 14 Oct 2025 10:00:00 GMT"), _DATE), 0, id="expired"),
        pytest.param((("Expires", "0"),), 0, id="Expires: 0"),
        pytest.param((("Expires", "-1"),), 0, id="Expires: -1"),
        pytest.param((("Expires", ""),), 0, id="Expires empty"),
        pytest.param((("Expires", _DATE[1]), ("Expires", _DATE[1])), 0, id="Expires twice"),
        pytest.param(
            (("Cache-Control", "max-age=60"), ("Expires", "0")), 60, id="max-age beats Expires"
        ),
    ],
)
def test_freshness_follows_the_caching_rules(headers: Headers, seconds: float | None) -> None:
    assert freshness_sec(headers, _NOW) == seconds


def test_a_quoted_argument_is_one_argument() -> None:
    headers = (("Cache-Control", r'private="a, max-age=1 \" x", max-age=60'),)

    assert cache_directives(headers) == (("private", r"a, max-age=1 \" x"), ("max-age", "60"))


def test_a_megabyte_of_directives_is_read_no_further_than_needed() -> None:
    directives = cache_directives((("Cache-Control", 'a="\\' * 300_000),))

    assert len(directives) <= 8_192


@pytest.mark.parametrize(
    ("headers", "lead"),
    [
        ((), None),
        ((("Date", "soon"),), None),
        ((("Date", "Tue, 14 Oct 2025 11:00:00 GMT"),), timedelta(hours=1)),
        ((("date", "Tue, 14 Oct 2025 13:00:00 GMT"),), -timedelta(hours=1)),
        ((("Date", "Tue, 14 Oct 2025 10:00:00 GMT"), ("Age", "3600")), timedelta(hours=1)),
    ],
    ids=["no date", "no date that can be read", "ahead", "behind", "a stored copy"],
)
def test_lead_over_a_server_is_told_by_its_date_and_the_age_of_a_copy(
    headers: Headers, lead: timedelta | None
) -> None:
    noon = datetime(2025, 10, 14, 12, tzinfo=UTC)

    assert lead_over_server(headers, noon) == lead


def test_the_source_of_freshness_is_max_age_before_expires() -> None:
    expires = ("Expires", "Tue, 14 Oct 2025 12:30:00 GMT")

    assert freshness_source((expires,)) == "expires"
    assert freshness_source((("Cache-Control", "max-age=60"), expires)) == "max-age"
