"""The situations that seed 004 describes: its ten cases, and its tables of states and answers."""

from collections.abc import Mapping

import pytest
from tests.support.in_memory_web import (
    BROKEN,
    DEAD,
    HTML,
    NEWS,
    SILENT,
    Page,
    moved,
    news,
    other,
    search,
)

from feedmill.model.canonical import CanonicalReason

Web = Mapping[str, Page]

CLEAN = "https://paper.example/feed"
WWW = "https://www.paper.example/feed"


@pytest.mark.parametrize(
    ("address", "web", "url", "reason", "requests"),
    [
        pytest.param(
            f"{CLEAN}?utm_source=mail",
            {
                f"{CLEAN}?utm_source=mail": news(f"{CLEAN}?utm_source=rss"),
                f"{CLEAN}?utm_source=rss": NEWS,
                CLEAN: NEWS,
            },
            CLEAN,
            "content_verified",
            2,
            id="1: only tracking parameters differ",
        ),
        pytest.param(
            WWW,
            {WWW: news(CLEAN), CLEAN: news(CLEAN)},
            CLEAN,
            "content_verified",
            1,
            id="2: the publisher calls itself without www",
        ),
        pytest.param(
            "http://paper.example/feed",
            {"http://paper.example/feed": news("http://paper.example/feed"), CLEAN: NEWS},
            CLEAN,
            "upgrade_https",
            1,
            id="3: http is upgraded",
        ),
        pytest.param(
            "https://paper.example/feed.php?id=7&utm_source=mail",
            {
                "https://paper.example/feed.php?id=7&utm_source=mail": news("/feed.php?id=7"),
                "https://paper.example/feed.php?id=7": NEWS,
            },
            "https://paper.example/feed.php?id=7",
            "content_verified",
            1,
            id="4: a parameter with a meaning stays",
        ),
        pytest.param(
            CLEAN,
            {CLEAN: news("/old"), "https://paper.example/old": other()},
            CLEAN,
            "response_url",
            1,
            id="5: the self URL is another feed",
        ),
        pytest.param(
            "https://old.example/rss",
            {
                "https://old.example/rss": moved("https://new.example/rss"),
                "https://new.example/rss": moved(CLEAN),
                CLEAN: news(CLEAN),
            },
            CLEAN,
            "response_url",
            0,
            id="6: a chain of redirects ends at the self URL",
        ),
        pytest.param(
            "https://cdn.example/paper",
            {"https://cdn.example/paper": news(CLEAN), CLEAN: news(CLEAN)},
            CLEAN,
            "content_verified",
            1,
            id="7: a mirror names the original",
        ),
        pytest.param(
            CLEAN,
            {CLEAN: news(WWW), WWW: news(WWW, stamp="other bytes")},
            CLEAN,
            "response_url",
            1,
            id="8: the same feed in other bytes, and the response is cleaner",
        ),
        pytest.param(
            "https://paper.example//feed",
            {"https://paper.example//feed": news(CLEAN), CLEAN: NEWS},
            CLEAN,
            "content_verified",
            1,
            id="9: a slash too many",
        ),
        pytest.param(
            "https://bücher.example/feed",
            {"https://xn--bcher-kva.example/feed": news("https://bücher.example/feed")},
            "https://xn--bcher-kva.example/feed",
            "response_url",
            0,
            id="10: a name in two spellings is one name",
        ),
    ],
)
def test_a_case_of_the_seed_ends_where_the_seed_says(
    address: str, web: Web, url: str, reason: CanonicalReason, requests: int
) -> None:
    found = search(address, web).found

    assert (found.url, found.reason, found.requests) == (url, reason, requests)


@pytest.mark.parametrize(
    ("declared", "url", "asked"),
    [
        pytest.param((), CLEAN, [], id="none"),
        pytest.param(("",), CLEAN, [], id="empty"),
        pytest.param(("   ",), CLEAN, [], id="white space"),
        pytest.param((CLEAN,), CLEAN, [], id="exactly where it answered"),
        pytest.param(("HTTPS://PAPER.example:443/feed#top",), CLEAN, [], id="another spelling"),
        pytest.param(("/feed",), CLEAN, [], id="relative, the same"),
        pytest.param(("/rss",), "https://paper.example/rss", ["/rss"], id="relative path"),
        pytest.param(("rss",), "https://paper.example/rss", ["/rss"], id="relative name"),
        pytest.param(
            ("//paper.example/rss",), "https://paper.example/rss", ["/rss"], id="no scheme"
        ),
        pytest.param(
            ("feed://paper.example/rss",), "https://paper.example/rss", ["/rss"], id="feed:"
        ),
        pytest.param(
            ("feed:https://paper.example/rss",), "https://paper.example/rss", ["/rss"], id="wrapped"
        ),
        pytest.param(
            ("pcast://paper.example/rss",), "https://paper.example/rss", ["/rss"], id="pcast"
        ),
        pytest.param(("mailto:me@paper.example",), CLEAN, [], id="no address at all"),
        pytest.param(("ftp://paper.example/rss",), CLEAN, [], id="nothing to fetch"),
        pytest.param(("http://[broken/",), CLEAN, [], id="broken"),
        pytest.param(("http://paper.example/feed",), CLEAN, [], id="the same by http"),
        pytest.param(
            ("https://me:secret@paper.example/feed",), CLEAN, [], id="the same with credentials"
        ),
        pytest.param(("", "/rss"), "https://paper.example/rss", ["/rss"], id="empty, then one"),
    ],
)
def test_what_the_publisher_calls_it_is_read_kindly(
    declared: tuple[str, ...], url: str, asked: list[str]
) -> None:
    web = {CLEAN: news(*declared), "https://paper.example/rss": NEWS}

    told = search(CLEAN, web)

    assert told.found.url == url
    assert told.urls == [CLEAN, *(f"https://paper.example{path}" for path in asked)]


def test_the_header_speaks_before_the_document() -> None:
    header, document = "https://paper.example/header", "https://paper.example/document"
    web = {CLEAN: news(header, document), header: NEWS, document: NEWS}

    assert search(CLEAN, web).found.url == header
    assert search(CLEAN, {**web, header: DEAD}).found.url == document


@pytest.mark.parametrize(
    ("web", "url", "reason", "source"),
    [
        pytest.param(
            {"https://a.example/x": NEWS}, "https://a.example/x", "response_url", "response",
            id="no redirects",
        ),
        pytest.param(
            {"https://a.example/x": moved(CLEAN), CLEAN: news(CLEAN)},
            CLEAN, "response_url", "response",
            id="the input leads to the self URL",
        ),
        pytest.param(
            {"https://a.example/x": news(CLEAN), CLEAN: moved("https://a.example/x")},
            "https://a.example/x", "redirect_verified", "response",
            id="the self URL leads to the input",
        ),
        pytest.param(
            {
                "https://a.example/x": moved("https://c.example/x"),
                "https://c.example/x": news(CLEAN),
                CLEAN: moved("https://c.example/x"),
            },
            "https://c.example/x", "redirect_verified", "response",
            id="both lead to a third",
        ),
        pytest.param(
            {
                "https://a.example/x": news(CLEAN),
                CLEAN: moved("https://d.example/x"),
                "https://d.example/x": NEWS,
            },
            "https://d.example/x", "redirect_verified", "self",
            id="the self URL leads to yet another: its destination is the source",
        ),
        pytest.param(
            {
                "https://a.example/x": moved("https://b.example/x"),
                "https://b.example/x": moved("https://c.example/x"),
                "https://c.example/x": NEWS,
            },
            "https://c.example/x", "response_url", "response",
            id="a chain",
        ),
    ],
)  # fmt: skip
def test_redirects_say_which_address_is_home(
    web: Web, url: str, reason: CanonicalReason, source: str
) -> None:
    found = search("https://a.example/x", web).found

    assert (found.url, found.reason, found.source) == (url, reason, source)


@pytest.mark.parametrize(
    ("clean", "url", "reason", "word"),
    [
        (NEWS, CLEAN, "content_verified", "chosen"),
        (news(stamp="tuesday"), CLEAN, "signature_verified", "chosen"),
        (other(), WWW, "fallback", "another feed"),
        (HTML, WWW, "fallback", "html-page"),
        (DEAD, WWW, "fallback", "not-found"),
        (BROKEN, WWW, "fallback", "server-error"),
        (SILENT, WWW, "fallback", "timeout"),
        (Page(status=403), WWW, "fallback", "no feed"),
        (moved(WWW), WWW, "redirect_verified", "redirects home"),
        (moved("https://third.example/feed"), CLEAN, "content_verified", "chosen"),
        (moved("https://nowhere.example/feed"), WWW, "fallback", "not-found"),
    ],
)
def test_a_cleaner_spelling_is_adopted_only_where_it_is_proven(
    clean: Page, url: str, reason: CanonicalReason, word: str
) -> None:
    web = {WWW: NEWS, CLEAN: clean, "https://third.example/feed": NEWS}

    found = search(WWW, web).found

    assert (found.url, found.reason, found.requests) == (url, reason, 1)
    assert {one.url: one.verdict for one in found.candidates}[CLEAN] == word


@pytest.mark.parametrize(
    ("page", "reason", "status"),
    [
        (DEAD, "not-found", 404),
        (BROKEN, "server-error", 503),
        (SILENT, "timeout", None),
        (HTML, "html-page", 200),
        (Page(status=304), "not-a-feed", 304),
        (Page(status=403, reason="auth-required"), "auth-required", 403),
    ],
)
def test_an_address_that_serves_no_feed_ends_the_search_with_its_reason(
    page: Page, reason: str, status: int | None
) -> None:
    told = search(CLEAN, {CLEAN: page, WWW: NEWS})

    assert (told.lost.reason, told.lost.status, told.lost.requests) == (reason, status, 0)
    assert told.urls == [CLEAN]
    assert told.lost.first == told.answers[0]
    assert [one.url for one in told.lost.asked] == [CLEAN]


def test_different_feeds_at_response_and_self_leave_the_response() -> None:
    web = {WWW: news("/b"), "https://www.paper.example/b": other(), CLEAN: NEWS}

    found = search(WWW, web).found

    assert (found.url, found.source, found.reason) == (CLEAN, "response", "content_verified")


@pytest.mark.parametrize(
    "text", ["", "   ", "not a url", "mailto:me@paper.example", "ftp://a.example/"]
)
def test_what_is_no_web_address_is_asked_for_nowhere(text: str) -> None:
    told = search(text, {})

    assert told.lost.reason == "malformed-url"
    assert (told.asks, told.lookups) == ([], [])


def test_a_redirect_to_what_is_no_web_address_has_a_reason() -> None:
    web = {CLEAN: moved("app://paper/feed"), "app://paper/feed": NEWS}

    assert search(CLEAN, web).lost.reason == "bad-redirect"


INSECURE = "http://other.example/rss"
SECURE = "https://other.example/rss"


@pytest.mark.parametrize(
    ("web", "url", "word"),
    [
        pytest.param({SECURE: NEWS}, SECURE, "the same bytes", id="its twin serves the feed"),
        pytest.param({}, CLEAN, "is only there by http", id="its twin is not there"),
    ],
)
def test_the_twin_of_an_insecure_self_url_is_asked_before_it_is_given_up(
    web: Web, url: str, word: str
) -> None:
    found = search(CLEAN, {CLEAN: news(INSECURE), INSECURE: news(INSECURE), **web})

    assert found.found.url == url
    assert word in [asked.verdict for asked in found.found.asked]


def test_an_insecure_self_url_is_not_called_insecure_when_no_request_was_left_to_ask() -> None:
    web = {CLEAN: news(INSECURE), INSECURE: news(INSECURE), SECURE: NEWS}

    found = search(CLEAN, web, budget=1)

    assert found.found.url == CLEAN
    assert "by http; no request was left for https" in [
        asked.verdict for asked in found.found.asked
    ]


@pytest.mark.parametrize(
    "added", ["utm_source=rss", "doing_wp_cron=1690.5", "PHPSESSID=abc&utm_x=1"]
)
def test_a_redirect_that_only_adds_tracking_is_no_better_address(added: str) -> None:
    tagged = f"{CLEAN}?{added}"

    assert search(CLEAN, {CLEAN: moved(tagged), tagged: NEWS}).found.url == CLEAN


def test_an_address_with_tracking_is_cleaned_although_the_clean_one_redirects_back() -> None:
    tagged = f"{CLEAN}?utm_source=rss"

    assert search(tagged, {CLEAN: moved(tagged), tagged: NEWS}).found.url == CLEAN


def test_a_redirect_that_adds_a_parameter_with_a_meaning_is_followed() -> None:
    target = f"{CLEAN}?format=xml"

    assert search(CLEAN, {CLEAN: moved(target), target: NEWS}).found.url == target


def test_no_request_is_kept_for_an_https_that_is_known_to_fail() -> None:
    page = "http://www.paper.example/feed/?utm_source=x"
    web = {
        page: news("https://www.paper.example/feed"),
        "http://www.paper.example/feed": SILENT,
        "http://paper.example/feed": NEWS,
    }

    found = search(page, web, budget=3)

    assert found.found.requests == 3


@pytest.mark.parametrize("address", ["http://010.0.0.1/", "http://0x7f.1/feed", "2130706433/feed"])
def test_an_ipv4_address_in_disguise_is_no_address(address: str) -> None:
    assert search(address, {}).lost.reason == "malformed-url"
