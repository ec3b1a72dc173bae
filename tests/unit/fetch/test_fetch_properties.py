"""Laws of the fetch room: what holds for every input."""

from datetime import UTC, datetime
from email.utils import format_datetime
from ipaddress import IPv4Address, ip_address

from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.config import FetchConfig
from feedmill.fetch.caching import freshness_sec
from feedmill.fetch.guard import check_address, check_url
from feedmill.fetch.headers import link_headers, parse_http_date, parse_retry_after
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import headers_for_hop, next_hop, plan_fetch
from feedmill.fetch.robots import Rules
from feedmill.model.fetch import (
    Allowed,
    Failed,
    Follow,
    Fresh,
    Gone,
    RawResponse,
    Refused,
    Unchanged,
    Validators,
)

_law = settings(deadline=None)  # the machine may be busy; laws are not timed

_NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
_URL = "https://example.com/feed"

_NAMES = st.sampled_from(
    ["ETag", "Last-Modified", "Cache-Control", "Expires", "Age", "Date", "Retry-After", "Vary",
     "Link", "Location", "Content-Type", "Content-Length", "Content-Encoding"]
)  # fmt: skip
_HEADERS = st.lists(st.tuples(_NAMES, st.text(max_size=40)), max_size=6).map(tuple)
_URLISH = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="htps:/@.[]%\\ 0127x#?localhost", max_size=60).map("http://".__add__),
)


@_law
@given(_URLISH)
def test_the_guard_never_raises_and_approves_its_own_approval(url: str) -> None:
    verdict = check_url(url, ["93.184.216.34"])

    if isinstance(verdict, Allowed):
        assert check_url(verdict.url, ["93.184.216.34"]) == verdict


@_law
@given(st.ip_addresses())
def test_a_literal_and_a_name_for_the_same_address_share_its_verdict(address: object) -> None:
    text = str(address)
    host = text if isinstance(ip_address(text), IPv4Address) else f"[{text}]"

    literal = check_url(f"http://{host}/")
    name = check_url("http://example.com/", [text])

    assert isinstance(literal, Refused) == isinstance(name, Refused)
    assert isinstance(literal, Refused) == (check_address(text) is not None)


@_law
@given(_URLISH)
def test_a_redirect_never_leads_where_the_guard_would_not_go(location: str) -> None:
    step = next_hop(_URL, 302, location)

    if isinstance(step, Follow):
        assert isinstance(check_url(step.url), Allowed)
        assert step.url.startswith("https://")


@_law
@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(9999, 1, 1)))  # noqa: DTZ001
def test_every_date_that_is_written_is_read_back(naive: datetime) -> None:
    moment = naive.replace(microsecond=0, tzinfo=UTC)

    assert parse_http_date(format_datetime(moment, usegmt=True), _NOW) == moment


@_law
@given(st.text(max_size=80), st.none() | st.text(max_size=40))
def test_a_wait_is_never_negative(value: str, date: str | None) -> None:
    seconds = parse_retry_after(value, _NOW, date)

    assert seconds is None or seconds >= 0


@_law
@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_seconds_are_read_exactly(seconds: int) -> None:
    assert parse_retry_after(str(seconds), _NOW) == seconds


@_law
@given(_HEADERS)
def test_freshness_is_never_negative(headers: tuple[tuple[str, str], ...]) -> None:
    seconds = freshness_sec(headers, _NOW)

    assert seconds is None or seconds >= 0


@_law
@given(st.text(max_size=200))
def test_links_from_a_header_are_always_web_addresses(value: str) -> None:
    links = link_headers((("Link", value),), _URL)

    assert all(link.href.startswith(("http://", "https://")) for link in links)


@_law
@given(st.text(max_size=200), _URLISH)
def test_robots_rules_never_raise(text: str, url: str) -> None:
    delay = Rules(text, "feedmill").crawl_delay(max_sec=60)

    assert delay is None or 0 <= delay <= 60
    assert Rules(text, "feedmill").allow(url) in (True, False)


@_law
@given(st.text(max_size=40), st.text(max_size=40), _URLISH)
def test_no_stored_validator_breaks_a_request(etag: str, modified: str, url: str) -> None:
    plan = plan_fetch(url, Validators(etag=etag, last_modified=modified), FetchConfig())

    for _, value in plan.headers + headers_for_hop(plan, _URL):
        assert not set(value) & {"\r", "\n", "\x00"}
        value.encode("latin-1")


@_law
@given(
    st.none() | st.integers(min_value=100, max_value=999),
    _HEADERS,
    st.binary(max_size=60),
    st.booleans(),
)
def test_every_answer_has_one_verdict(
    status: int | None, headers: tuple[tuple[str, str], ...], body: bytes, conditional: bool
) -> None:
    stored = Validators(etag='"a"') if conditional else None
    plan = plan_fetch(_URL, stored, FetchConfig())
    response = RawResponse(url=_URL, final_url=_URL, status=status, headers=headers, body=body)

    verdict = judge(response, plan, _NOW)

    assert isinstance(verdict, Fresh) <= (status in (200, 203))
    assert isinstance(verdict, Unchanged) == (status == 304 and conditional)
    assert isinstance(verdict, Gone) == (status == 410)
    assert isinstance(verdict, Failed) >= (status is None or (status >= 400 and status != 410))
