"""What a stranger can put in the way of a search: sessions, probes that break, odd addresses."""

import pytest
from tests.support.in_memory_web import NEWS, moved, search

FEED = "https://paper.example/feed"


@pytest.mark.parametrize("given", [FEED, f"{FEED}?id=7"])
def test_a_temporary_redirect_into_a_session_is_a_ticket_on_the_same_host_too(given: str) -> None:
    session = f"{FEED}?PHPSESSID=1"
    told = search(given, {given: moved(session, temporary=True), session: NEWS})

    assert told.found.url == given


def test_a_temporary_redirect_that_takes_a_query_away_is_followed() -> None:
    given = f"{FEED}?from=mail"
    told = search(given, {given: moved(FEED, temporary=True), FEED: NEWS})

    assert told.found.url == FEED


def test_a_permanent_redirect_to_a_query_is_followed() -> None:
    there = "https://paper.example/index?type=rss"
    told = search(FEED, {FEED: moved(there), there: NEWS})

    assert told.found.url == there


def _breaks(_: str) -> tuple[str, ...]:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "probe",
    [
        pytest.param(_breaks, id="breaks"),
        pytest.param(
            lambda _: ("ftp://paper.example/x", "\ud800", "no address"), id="no addresses"
        ),
    ],
)
def test_a_probe_that_fails_knows_nothing(probe: object) -> None:
    told = search(FEED, {FEED: NEWS}, probes=(probe,))

    assert told.found.url == FEED
    assert told.urls == [FEED]


def test_what_a_probe_names_is_asked_for_without_its_credentials() -> None:
    named = "https://ann:secret@Paper.example/rss#top"
    web = {FEED: NEWS, "https://paper.example/rss": NEWS}

    told = search(FEED, web, probes=(lambda _: (named,),))

    assert told.found.url == "https://paper.example/rss"
    assert told.urls == [FEED, "https://paper.example/rss"]


def test_what_is_no_address_is_quoted_without_its_credentials() -> None:
    told = search("https://ann:secret@pa per.example/feed", {})

    assert told.lost.reason == "malformed-url"
    assert "secret" not in f"{told.lost}"
    assert "pa per.example/feed" in told.lost.detail
