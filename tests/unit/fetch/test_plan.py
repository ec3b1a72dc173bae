"""The request that is sent: plain, honest, conditional.

Redirects: where they may lead and when they are a move.
"""

import pytest

from feedmill.config import FetchConfig
from feedmill.fetch.plan import (
    ACCEPT_PAGE,
    headers_for_hop,
    next_hop,
    next_use,
    permanent_target,
    plan_download,
    plan_fetch,
    resolve_location,
    same_origin,
    validators_to_send,
)
from feedmill.model.feed import FeedOverrides, ValidatorUse
from feedmill.model.fetch import FetchLimits, Follow, Hop, Refused, Validators

_URL = "https://example.com/feed"
_CONFIG = FetchConfig(user_agent="feedmill/1 (+https://feed.example/bot)")
_VALIDATORS = Validators(etag='W/"a"', last_modified="tue, 1 oct 2025", url=_URL)
BOTH = Validators(etag='"1"', last_modified="Tue, 14 Oct 2025 08:00:00 GMT")
_HERE = "https://example.com/a/feed"


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


def _hops(*statuses: int) -> tuple[Hop, ...]:
    return tuple(
        Hop(url=f"https://example.com/{n}", status=status, location=f"/{n + 1}")
        for n, status in enumerate(statuses)
    )


@pytest.mark.parametrize(
    ("location", "url", "stays"),
    [
        pytest.param("/b", "https://example.com/b", True, id="absolute path"),
        pytest.param("b?c=1", "https://example.com/a/b?c=1", True, id="relative path"),
        pytest.param("//example.com/b", "https://example.com/b", True, id="scheme-relative"),
        pytest.param("https://www.example.com/", "https://www.example.com/", False, id="host"),
        pytest.param("https://example.com:8443/", "https://example.com:8443/", False, id="port"),
        pytest.param(" /b\t", "https://example.com/b", True, id="white space around it"),
        pytest.param("/my feed", "https://example.com/my%20feed", True, id="space in the path"),
        pytest.param("/caf\xc3\xa9", "https://example.com/caf%C3%A9", True, id="UTF-8 octets"),
        pytest.param("/caf\xe9", "https://example.com/caf%C3%A9", True, id="Latin-1 octets"),
        pytest.param("https://u:p@example.com/b", "https://example.com/b", True, id="credentials"),
    ],
)
def test_a_location_is_resolved_against_the_current_url(
    location: str, url: str, stays: bool
) -> None:
    step = next_hop(_HERE, 302, location)

    assert step == Follow(url=url)
    assert same_origin(_HERE, url) is stays


@pytest.mark.parametrize(
    ("status", "location", "reason"),
    [
        pytest.param(200, "/b", "not-a-redirect", id="success"),
        pytest.param(300, "/b", "not-a-redirect", id="a choice for people"),
        pytest.param(304, "/b", "not-a-redirect", id="not modified"),
        pytest.param(302, None, "no-location", id="no Location"),
        pytest.param(302, "  ", "no-location", id="blank Location"),
        pytest.param(302, "https://[bad/", "bad-location", id="unreadable"),
        pytest.param(302, "/b\r\nX: y", "bad-location", id="line end"),
        pytest.param(302, "\\\\example.net", "bad-location", id="backslashes"),
        pytest.param(302, "file:///etc/passwd", "scheme", id="file"),
        pytest.param(302, "data:,x", "scheme", id="data"),
        pytest.param(302, "https://10.0.0.1/", "private-address", id="private network"),
        pytest.param(302, "http://example.com/a/feed", "downgrade", id="https to http"),
        pytest.param(302, "feed#top", "redirect-loop", id="only the fragment differs"),
    ],
)
def test_a_redirect_that_may_not_be_followed_says_why(
    status: int, location: str | None, reason: str
) -> None:
    step = next_hop(_HERE, status, location)

    assert isinstance(step, Refused)
    assert step.reason == reason


def test_a_loop_through_another_page_is_seen() -> None:
    hops = (Hop(url="https://example.com/1", status=302, location="/2"),)

    step = next_hop("https://example.com/2", 302, "https://EXAMPLE.com:443/1", hops)

    assert step == Refused(reason="redirect-loop", detail="https://example.com/1")


def test_the_fifth_redirect_is_followed_and_the_sixth_is_not() -> None:
    fifth = next_hop("https://example.com/4", 302, "/5", _hops(302, 302, 302, 302))
    sixth = next_hop("https://example.com/5", 302, "/6", _hops(302, 302, 302, 302, 302))

    assert isinstance(fifth, Follow)
    assert sixth == Refused(reason="too-many-redirects", detail="5")


def test_a_downgrade_is_followed_where_the_configuration_allows_it() -> None:
    step = next_hop(_HERE, 301, "http://example.com/feed", allow_downgrade=True)

    assert step == Follow(url="http://example.com/feed")


def test_an_upgrade_to_https_is_followed() -> None:
    step = next_hop("http://example.com/feed", 308, "https://example.com/feed")

    assert step == Follow(url="https://example.com/feed")


def test_a_redirect_into_an_opened_network_is_followed() -> None:
    step = next_hop(
        "http://127.0.0.1:8001/", 302, "http://127.0.0.1:8002/", allow_cidrs=["127.0.0.0/8"]
    )

    assert isinstance(step, Follow)


def test_the_fragment_of_the_old_url_is_inherited_unless_the_new_one_has_its_own() -> None:
    assert resolve_location(f"{_HERE}#x", "/b") == "https://example.com/b#x"
    assert resolve_location(f"{_HERE}#x", "/b#y") == "https://example.com/b#y"


def test_a_location_from_nowhere_leads_nowhere() -> None:
    assert resolve_location("not a url", "/b") is None
    assert resolve_location("not a url", "https://example.com/") is None


@pytest.mark.parametrize(
    ("statuses", "moved_to"),
    [
        pytest.param((), None, id="no redirect"),
        pytest.param((301,), "https://example.com/1", id="moved permanently"),
        pytest.param((308, 308), "https://example.com/2", id="permanent twice"),
        pytest.param((301, 308, 301), "https://example.com/3", id="a mixed permanent chain"),
        pytest.param((302,), None, id="found"),
        pytest.param((301, 302), None, id="a temporary end"),
        pytest.param((307, 301), None, id="a temporary beginning"),
        pytest.param((303,), None, id="see other"),
    ],
)
def test_only_a_chain_of_permanent_hops_is_a_move(
    statuses: tuple[int, ...], moved_to: str | None
) -> None:
    assert permanent_target(_hops(*statuses)) == moved_to


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("http://example.com/b", id="leaves https"),
        pytest.param("https://[bad/", id="leads nowhere"),
    ],
)
def test_a_bad_permanent_hop_is_no_move(location: str) -> None:
    assert permanent_target([Hop(url=_HERE, status=301, location=location)]) is None


def test_a_move_carries_neither_fragment_nor_credentials() -> None:
    hop = Hop(url="http://example.com/#old", status=301, location="https://u:p@example.org/f#x")

    assert permanent_target([hop]) == "https://example.org/f"


def test_an_unreadable_url_has_no_origin_in_common_with_anything() -> None:
    assert same_origin("https://a.example.com/x", "https://a.example.com:443/y")
    assert not same_origin("nowhere", "nowhere")
    assert not same_origin("https://a.example.com/", "nowhere")
    assert not same_origin("https://a.example.com/", "http://a.example.com/")
