"""The request that is sent: plain, honest, conditional."""

import pytest

from feedmill.config import FetchConfig
from feedmill.fetch.plan import (
    ACCEPT_PAGE,
    headers_for_hop,
    next_use,
    plan_download,
    plan_fetch,
    validators_to_send,
)
from feedmill.model.feed import FeedOverrides, ValidatorUse
from feedmill.model.fetch import FetchLimits, Validators

_URL = "https://example.com/feed"
_CONFIG = FetchConfig(user_agent="feedmill/1 (+https://feed.example/bot)")
_VALIDATORS = Validators(etag='W/"a"', last_modified="tue, 1 oct 2025", url=_URL)
BOTH = Validators(etag='"1"', last_modified="Tue, 14 Oct 2025 08:00:00 GMT")


def _names(headers: tuple[tuple[str, str], ...]) -> list[str]:
    return [name for name, _ in headers]


def test_a_first_request_is_unconditional_and_names_us_and_the_feed_types() -> None:
    plan = plan_fetch(_URL, None, _CONFIG)

    headers = dict(plan.headers)
    assert not plan.conditional
    assert _names(plan.headers) == ["User-Agent", "Accept", "Accept-Encoding"]
    assert headers["User-Agent"] == "feedmill/1 (+https://feed.example/bot)"
    assert headers["Accept-Encoding"] == "gzip, deflate, br, zstd"
    for feed_type in ("application/rss+xml", "application/atom+xml", "application/feed+json"):
        assert feed_type in headers["Accept"]


def test_both_validators_are_sent_byte_for_byte() -> None:
    plan = plan_fetch(_URL, _VALIDATORS, _CONFIG)

    assert plan.conditional
    assert plan.headers[-2:] == (
        ("If-None-Match", 'W/"a"'),
        ("If-Modified-Since", "tue, 1 oct 2025"),
    )


@pytest.mark.parametrize(
    "validators",
    [
        pytest.param(Validators(), id="nothing in them"),
        pytest.param(Validators(etag='"a"\r\nX: y'), id="nothing that can be sent"),
        pytest.param(Validators(etag='"a"', vary_any=True), id="Vary: *"),
        pytest.param(Validators(etag='"a"', vary=(("user-agent", "old/1"),)), id="new name"),
        pytest.param(Validators(etag='"a"', vary=(("accept", "*/*"),)), id="new Accept"),
    ],
)
def test_validators_that_no_longer_vouch_are_not_sent(validators: Validators) -> None:
    plan = plan_fetch(_URL, validators, _CONFIG)

    assert plan == plan_fetch(_URL, None, _CONFIG)


def test_a_forced_request_is_unconditional() -> None:
    assert plan_fetch(_URL, _VALIDATORS, _CONFIG, forced=True) == plan_fetch(_URL, None, _CONFIG)


def test_the_limits_are_those_of_the_configuration() -> None:
    plan = plan_fetch(_URL, None, FetchConfig(timeout_ms=5, max_redirects=3, max_body_bytes=7))

    assert plan.limits == FetchLimits(
        timeout_ms=5,
        max_redirects=3,
        max_body_bytes=7,
        max_wire_bytes=10_485_760,
        max_header_bytes=65_536,
        min_bytes_per_sec=1_024,
        min_throughput_window_sec=10,
    )


def test_without_decoders_the_document_is_asked_for_as_it_is() -> None:
    plan = plan_fetch(_URL, None, FetchConfig(accept_encodings=()))

    assert ("Accept-Encoding", "identity") in plan.headers


def test_a_page_is_asked_for_as_a_page() -> None:
    assert ("Accept", ACCEPT_PAGE) in plan_fetch(_URL, None, _CONFIG, accept=ACCEPT_PAGE).headers


class TestCredentials:
    def test_credentials_leave_the_url_and_become_a_field(self) -> None:
        plan = plan_fetch("https://Aladdin:open%20sesame@example.com/feed#x", None, _CONFIG)

        assert plan.url == _URL
        assert plan.headers[-1] == ("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")

    @pytest.mark.parametrize(
        ("userinfo", "encoded"),
        [
            pytest.param("me@", "bWU6", id="no password"),
            pytest.param(":key@", "OmtleQ==", id="no name"),
            pytest.param("%zz:%@", "JXp6OiU=", id="escapes that are none"),
            pytest.param("é:%ff@", "w6k677+9", id="beyond ASCII"),
        ],
    )
    def test_half_and_odd_credentials_are_sent_as_they_are(
        self, userinfo: str, encoded: str
    ) -> None:
        plan = plan_fetch(f"https://{userinfo}example.com/feed", None, _CONFIG)

        assert plan.headers[-1] == ("Authorization", f"Basic {encoded}")

    @pytest.mark.parametrize("userinfo", ["", "somebody:else@"])
    def test_given_credentials_win_over_those_in_the_url(self, userinfo: str) -> None:
        url = f"https://{userinfo}example.com/feed"

        plan = plan_fetch(url, None, _CONFIG, credentials=("Aladdin", "open sesame"))

        assert plan.url == _URL
        assert plan.headers[3:] == (("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),)

    def test_a_url_that_cannot_be_read_is_left_to_the_guard(self) -> None:
        assert plan_fetch("no url", None, _CONFIG).url == "no url"


class TestExtraHeaders:
    def test_a_feed_may_bring_its_own_fields_and_replace_ours(self) -> None:
        extra = (("X-Api-Key", "k"), ("user-agent", "other/1"))

        plan = plan_fetch(_URL, None, _CONFIG, extra_headers=extra)

        assert _names(plan.headers) == ["Accept", "Accept-Encoding", "X-Api-Key", "user-agent"]

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            pytest.param("Cookie", "id=1", id="cookies are not kept"),
            pytest.param("Referer", "https://example.org/", id="referer"),
            pytest.param("Range", "bytes=0-9", id="range"),
            pytest.param("If-None-Match", '"x"', id="made-up validator"),
            pytest.param("Accept-Encoding", "compress", id="a coding that we do not bound"),
            pytest.param("Host", "internal", id="another host"),
            pytest.param("X-A", "b\r\nX-Evil: 1", id="line end in the value"),
            pytest.param("X A", "b", id="space in the name"),
            pytest.param("X-É", "b", id="name beyond ASCII"),
            pytest.param("", "b", id="no name"),
        ],
    )
    def test_fields_that_break_the_rules_are_left_out(self, name: str, value: str) -> None:
        plan = plan_fetch(_URL, None, _CONFIG, extra_headers=((name, value),))

        assert plan == plan_fetch(_URL, None, _CONFIG)

    def test_a_name_of_ours_with_a_line_end_is_not_sent(self) -> None:
        plan = plan_fetch(_URL, None, FetchConfig(user_agent="a\r\nX-Evil: 1"))

        assert _names(plan.headers) == ["Accept", "Accept-Encoding"]


class TestHops:
    _PLAN = plan_fetch(
        "https://me:pw@example.com/feed", _VALIDATORS, _CONFIG, extra_headers=(("X-Api-Key", "k"),)
    )
    _IMPERSONAL = ("User-Agent", "Accept", "Accept-Encoding")

    def test_what_identifies_us_stays_with_the_origin(self) -> None:
        assert _names(headers_for_hop(self._PLAN, "https://example.org/feed")) == [
            *self._IMPERSONAL
        ]

    def test_credentials_go_along_within_the_origin_and_validators_do_not(self) -> None:
        assert _names(headers_for_hop(self._PLAN, "https://example.com/other")) == [
            *self._IMPERSONAL,
            "Authorization",
            "X-Api-Key",
        ]

    def test_validators_go_to_the_resource_that_gave_them(self) -> None:
        stored = Validators(etag='"b"', url="https://example.org/feed")
        plan = plan_fetch(_URL, stored, _CONFIG)

        first = _names(plan.headers)
        hop = headers_for_hop(plan, "https://example.org/feed#top")

        assert plan.conditional
        assert first == [*self._IMPERSONAL]
        assert hop[-1] == ("If-None-Match", '"b"')

    def test_an_unconditional_plan_stays_so(self) -> None:
        plan = plan_fetch(_URL, None, _CONFIG)

        assert headers_for_hop(plan, _URL) == plan.headers


def test_download_asks_for_plain_bytes_and_its_range_at_every_hop() -> None:
    fields = (("Range", "bytes=9-"), ("If-Range", '"a"'))

    plan = plan_download(
        "https://a.example/1.mp3",
        FeedOverrides(username="u", password="p"),
        FetchConfig(),
        range_fields=fields,
        timeout_sec=60.0,
    )
    away = headers_for_hop(plan, "https://b.example/1.mp3")

    assert ("Accept-Encoding", "identity") in plan.headers
    assert plan.limits.timeout_ms == 60_000
    assert plan.headers[-2:] == fields
    assert away[-2:] == fields
    assert "Authorization" not in dict(away)


@pytest.mark.parametrize(
    ("useless", "sent"),
    [(0, (1, 1)), (2, (1, 1)), (3, (1, 0)), (5, (1, 0)), (6, (0, 1)), (8, (0, 1)), (9, (1, 1))],
)
def test_after_three_answers_with_nothing_new_each_is_tried_alone(
    useless: int, sent: tuple[int, int]
) -> None:
    found = validators_to_send(BOTH, useless, None)

    assert found is not None
    assert (found.etag is not None, found.last_modified is not None) == sent


def test_what_worked_is_sent_until_it_fails_again() -> None:
    assert next_use(0, "date") == "date"
    assert next_use(3, "date") == "etag"


def test_the_search_is_repeated_more_and_more_rarely() -> None:
    tried: list[ValidatorUse] = [next_use(3 * turn, None) for turn in range(48)]

    assert [turn for turn, use in enumerate(tried) if use == "date"] == [2, 5, 8, 14, 26]


@pytest.mark.parametrize("one", [None, Validators(etag='"1"'), Validators(last_modified="x")])
def test_a_single_validator_is_sent_as_it_is(one: Validators | None) -> None:
    assert validators_to_send(one, 4, None) is one
