"""A search says what it thought, asked and heard, so that a person can follow it."""

from tests.support.in_memory_web import DEAD, NEWS, moved, news, search

CLEAN = "https://paper.example/feed"
WWW = "https://www.paper.example/feed"


def test_every_candidate_has_a_score_a_source_and_a_fate() -> None:
    found = search(f"{WWW}/", {f"{WWW}/": NEWS, CLEAN: DEAD, WWW: NEWS}).found

    told = [(one.url, one.preset, one.verdict) for one in found.candidates]
    assert told == [
        (CLEAN, "feed-aggressive", "not-found"),
        (WWW, "feed-moderate", "chosen"),
        (f"{WWW}/", "feed-conservative", "serves the feed; a better one was found"),
    ]
    assert [one.cleanliness for one in found.candidates] == [267.4, 217.0, 196.9]


def test_what_was_not_reached_is_said_to_be_not_tried() -> None:
    found = search(f"{WWW}/", {f"{WWW}/": NEWS}, budget=0).found

    assert [one.verdict for one in found.candidates] == ["not tried", "not tried", "chosen"]


def test_spellings_of_the_response_are_passed_over_once_the_feed_named_another_address() -> None:
    own = "https://mirror.example/rss"
    found = search(f"{WWW}/", {f"{WWW}/": news(own), own: NEWS}).found

    fates = {one.url: (one.source, one.verdict) for one in found.candidates}
    assert fates[own] == ("self", "chosen")
    assert fates[CLEAN] == ("response", "not tried; the feed names another")


def test_every_request_has_a_role_and_a_meaning() -> None:
    own = "https://paper.example/rss/"
    web = {
        f"{WWW}/": news(own),
        own: moved("https://paper.example/atom/"),
        "https://paper.example/atom/": news(stamp="late"),
    }

    found = search(f"{WWW}/", web).found

    told = [(one.url, one.role, one.status, one.verdict) for one in found.asked]
    assert told == [
        (f"{WWW}/", "input", 200, "a feed"),
        (own, "self", 200, "the same feed in other bytes"),
        ("https://paper.example/atom", "variant", 404, "not-found"),
    ]
    assert (found.url, found.self_url) == ("https://paper.example/atom/", own)


def test_all_addresses_that_were_seen_to_serve_the_feed_are_listed_once() -> None:
    web = {
        "https://a.example/x": moved(f"{WWW}#top"),
        f"{WWW}#top": news(CLEAN),
        WWW: news(CLEAN),
        CLEAN: NEWS,
    }

    assert search("https://a.example/x", web).found.proven == (CLEAN, "https://a.example/x", WWW)


def test_what_the_caller_knows_is_shown_as_chosen() -> None:
    found = search(f"{WWW}/", {}, known=(WWW,)).found

    assert [one.url for one in found.candidates if one.verdict == "chosen"] == [WWW]
    assert found.source == "input"


def test_an_address_that_nobody_would_spell_like_that_is_a_candidate_as_it_was_found() -> None:
    start, own = f"{CLEAN}?utm_source=x", f"{CLEAN}?utm_source=y"
    web = {start: news(own), own: NEWS}

    candidates = {one.url: one for one in search(start, web, presets=()).found.candidates}

    assert (candidates[own].source, candidates[own].verdict) == ("self", "chosen")
    assert (candidates[start].source, candidates[start].preset) == ("response", "")


def test_an_answer_that_came_before_is_not_asked_for_again() -> None:
    web = {"https://a.example/x": moved(CLEAN), CLEAN: news("https://a.example/x")}

    told = search("https://a.example/x", web)

    assert told.urls == ["https://a.example/x"]
    assert told.found.reason == "redirect_verified"
