"""Header fields keep their order, their duplicates and their octets.

HTTP-date in its three forms, and what stays no date.

Retry-After against the vectors, and the answers on which it means something.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.fetch.headers import (
    header_list,
    header_text,
    header_value,
    header_values,
    is_sendable,
    link_headers,
    links_with_rel,
    parse_http_date,
    parse_retry_after,
    redact_headers,
    retry_after_sec,
)
from feedmill.model.parsed import Link

_HEADERS = (("Vary", "Accept"), ("ETag", ""), ("etag", ' "a" '), ("VARY", "Origin"))
_URL = "https://example.com/blog/feed"
_NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
_RFC_EXAMPLE = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
_VECTORS = Path(__file__).parents[2] / "vectors" / "retry_after.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text(encoding="utf-8"))["cases"]


def test_a_field_is_found_in_any_case_with_all_its_values_in_order() -> None:
    assert header_values(_HEADERS, "vary") == ("Accept", "Origin")
    assert header_list(_HEADERS, "Vary") == "Accept, Origin"


def test_an_empty_value_does_not_hide_the_next_one() -> None:
    assert header_value(_HEADERS, "ETag") == '"a"'
    assert header_value(_HEADERS, "Age") is None


def test_octets_are_sendable_and_line_ends_are_not() -> None:
    assert is_sendable('"caf\xe9"\t')
    assert not is_sendable('"a"\r\nX: y')
    assert not is_sendable("\x00")
    assert not is_sendable("\x7f")
    assert not is_sendable("€")


def test_octets_are_read_as_utf_8_where_they_are() -> None:
    assert header_text("caf\xc3\xa9") == "café"
    assert header_text("caf\xe9") == "café"
    assert header_text("€") == "€"


def test_credentials_are_not_recorded() -> None:
    headers = (("Accept", "*/*"), ("Authorization", "Basic c2VjcmV0"), ("Set-Cookie", "id=1"))

    assert redact_headers(headers) == (
        ("Accept", "*/*"),
        ("Authorization", "[redacted]"),
        ("Set-Cookie", "[redacted]"),
    )


def _pairs(*values: str) -> list[tuple[str, str]]:
    links = link_headers(tuple(("Link", value) for value in values), _URL)
    return [(link.rel, link.href) for link in links]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("</h>; rel=hub", [("hub", "https://example.com/h")], id="token"),
        pytest.param('<h>;rel="HUB"', [("hub", "https://example.com/blog/h")], id="quoted, case"),
        pytest.param(
            "<https://a.example/>; rel=hub, <https://b.example/>; rel=self",
            [("hub", "https://a.example/"), ("self", "https://b.example/")],
            id="several in one field",
        ),
        pytest.param(
            '</a,b>; title="x, <y>; rel=no"; rel=hub,</c>; rel=self',
            [("hub", "https://example.com/a,b"), ("self", "https://example.com/c")],
            id="commas inside",
        ),
        pytest.param(
            '</a>; rel="hub  self hub"',
            [("hub", "https://example.com/a"), ("self", "https://example.com/a")],
            id="several relations",
        ),
        pytest.param("</a>; rel=hub; rel=self", [("hub", "https://example.com/a")], id="first rel"),
        pytest.param(
            "</a>; rel=https://Example.com/Rel", [("https://Example.com/Rel", "https://example.com/a")],
            id="a relation that is a URI",
        ),
        pytest.param("</a> ; rel = hub ;", [("hub", "https://example.com/a")], id="loose spaces"),
        pytest.param('</a>; rel="hub', [("hub", "https://example.com/a")], id="open quote"),
        pytest.param('</a>; rel=hub; anchor=""', [("hub", "https://example.com/a")], id="own anchor"),
        pytest.param('</a>; rel=hub; anchor="/other"', [], id="about another page"),
        pytest.param('</a>; rel=hub; anchor="#part"', [], id="about a part"),
        pytest.param("</a>", [], id="no relation"),
        pytest.param("</a>; rev=hub", [], id="reversed"),
        pytest.param("<javascript:alert(1)>; rel=hub", [], id="not http"),
        pytest.param("<http://[bad>; rel=hub", [], id="unreadable target"),
        pytest.param("rel=hub", [], id="no target"),
        pytest.param("</a; rel=hub", [], id="open target"),
    ],
)  # fmt: skip
def test_links_are_read_by_the_grammar(value: str, expected: list[tuple[str, str]]) -> None:
    assert _pairs(value) == expected


def test_several_fields_are_one_list() -> None:
    assert _pairs("</a>; rel=hub", "</b>; rel=self") == [
        ("hub", "https://example.com/a"),
        ("self", "https://example.com/b"),
    ]


def test_a_link_keeps_its_attributes() -> None:
    value = r'</a>; rel=alternate; type="application/rss+xml"; hreflang=de; title="a \"b\" \\c"'

    assert link_headers((("link", value),), _URL) == (
        Link(
            href="https://example.com/a",
            rel="alternate",
            type="application/rss+xml",
            hreflang="de",
            title=r'a "b" \c',
        ),
    )


def test_the_targets_of_one_relation_come_each_once() -> None:
    links = link_headers((("Link", "</a>; rel=hub, </b>; rel=self, </a>; rel=hub"),), _URL)

    assert links_with_rel(links, "hub") == ("https://example.com/a",)


def test_a_flood_of_links_is_cut() -> None:
    assert len(_pairs("</a>; rel=hub, " * 100_000)) == 100
    assert len(_pairs(f'</a>; rel="{" ".join(f"r{n}" for n in range(5_000))}"')) == 100


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


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['id']}-{case['why'][:60]}")
def test_retry_after_is_read_as_the_vector_says(case: dict[str, Any]) -> None:
    now = datetime.fromisoformat(case["now"])
    headers = (("Retry-After", case["value"]), ("Date", case.get("date_header", "")))

    parsed = parse_retry_after(case["value"], now, case.get("date_header"))
    seconds = retry_after_sec(case["status"], headers, now) if "status" in case else parsed

    assert seconds == case["expected_seconds"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("0", 0, id="no wait"),
        pytest.param("000120", 120, id="padded"),
        pytest.param("0" * 5_000 + "7", 7, id="very padded"),
        pytest.param("120.5", None, id="fraction"),
        pytest.param("120 s", None, id="unit"),
        pytest.param("120, 60", None, id="list"),
        pytest.param("Tue Oct 14 09:32:05 2025", 120, id="asctime"),
        pytest.param("Sunday, 06-Nov-94 08:49:37 GMT", 0, id="RFC 850 in the last century"),
    ],
)
def test_only_the_grammar_is_read(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, _NOW) == seconds


def test_an_unreadable_date_header_leaves_our_own_clock() -> None:
    assert parse_retry_after("Tue, 14 Oct 2025 09:32:05 GMT", _NOW, "yesterday") == 120


@pytest.mark.parametrize("status", [301, 403, 404, 413, 429, 500, 503])
def test_a_wait_is_honoured_on_every_failure(status: int) -> None:
    assert retry_after_sec(status, (("retry-after", "60"),), _NOW) == 60


@pytest.mark.parametrize("status", [200, 206, 304, 410])
def test_a_wait_means_nothing_where_nothing_is_to_be_retried(status: int) -> None:
    assert retry_after_sec(status, (("retry-after", "60"),), _NOW) is None


def test_without_the_field_there_is_no_wait() -> None:
    assert retry_after_sec(503, (), _NOW) is None
