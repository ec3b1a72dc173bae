"""What a caller may choose, forbid or vouch for while an address is canonicalised."""

from collections.abc import Callable

import pytest
from tests.support.in_memory_web import (
    BUSY,
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

from feedmill.canonicalise.pasted_url import blogger, feedburner, wordpress_candidates
from feedmill.canonicalise.policies import UrlPolicy
from feedmill.errors import UnknownPolicyError

CLEAN = "https://paper.example/feed"
WWW = "https://www.paper.example/feed"
MESSY = "http://www.paper.example/feed/?utm_source=mail"
BURNT = "https://feedproxy.google.com/paper"
BURNER = "https://feeds.feedburner.com/paper"


@pytest.mark.parametrize(
    ("budget", "url", "asked"),
    [
        (0, MESSY, []),
        (1, "http://paper.example/feed", ["http://paper.example/feed"]),
        (2, CLEAN, ["http://paper.example/feed", CLEAN]),
        (3, CLEAN, ["http://paper.example/feed", CLEAN]),
        (5, CLEAN, ["http://paper.example/feed", CLEAN]),
    ],
)
def test_the_budget_says_how_far_the_search_goes(budget: int, url: str, asked: list[str]) -> None:
    web = {MESSY: NEWS, "http://paper.example/feed": NEWS, CLEAN: NEWS}

    told = search(MESSY, web, budget=budget)

    assert told.found.url == url
    assert told.urls[1:] == asked


def test_one_request_is_kept_for_https() -> None:
    secure = MESSY.replace("http:", "https:")
    told = search(MESSY, {MESSY: NEWS, secure: NEWS}, budget=3)

    assert told.found.url == secure
    assert told.urls[1:] == [
        "http://paper.example/feed",
        "http://www.paper.example/feed",
        secure,
    ]


def test_what_is_only_clean_by_https_is_found_after_the_upgrade() -> None:
    start = "http://www.paper.example/feed"

    found = search(start, {start: NEWS, WWW: NEWS, CLEAN: NEWS}).found

    assert (found.url, found.reason, found.preset) == (CLEAN, "content_verified", "feed-aggressive")


def test_an_upgrade_that_leads_back_to_http_is_none() -> None:
    start = "http://paper.example/feed"

    found = search(start, {start: NEWS, CLEAN: moved(start)}).found

    assert (found.url, found.reason) == (start, "fallback")


def test_who_prefers_no_https_keeps_http() -> None:
    start = "http://paper.example/feed"
    web = {start: NEWS, CLEAN: NEWS}

    assert search(start, web, prefer_https=False).urls == [start]


def test_https_is_not_given_up_for_a_self_url_by_http() -> None:
    own = "http://paper.example/rss"
    web = {CLEAN: news(own), own: NEWS}

    stays, leaves = search(CLEAN, web).found, search(CLEAN, web, prefer_https=False).found

    assert (stays.url, leaves.url) == (CLEAN, own)
    assert [one.verdict for one in stays.asked] == ["a feed", "is only there by http", "not-found"]


def test_https_is_not_given_up_for_a_variant_that_leads_to_http() -> None:
    web = {WWW: NEWS, CLEAN: moved("http://third.example/x"), "http://third.example/x": NEWS}

    found = search(WWW, web).found

    assert found.url == WWW
    assert found.asked[1].verdict == "is only there by http"


def test_a_self_url_is_tried_on_the_other_scheme_only_where_it_does_not_answer() -> None:
    own, twin = "http://other.example/feed", "https://other.example/feed"

    dead = search(CLEAN, {CLEAN: news(own), twin: NEWS})
    alive = search(CLEAN, {CLEAN: news(own), own: other(), twin: NEWS})

    assert (dead.found.url, dead.urls) == (twin, [CLEAN, own, twin])
    assert (alive.found.url, alive.urls) == (CLEAN, [CLEAN, own])


def test_www_is_kept_for_those_who_prefer_it() -> None:
    told = search(f"{WWW}/", {f"{WWW}/": NEWS, WWW: NEWS, CLEAN: NEWS}, prefer_no_www=False)

    assert told.found.url == WWW
    assert CLEAN not in told.urls


def test_slow_down_ends_the_asking_at_once() -> None:
    told = search(f"{WWW}/", {f"{WWW}/": NEWS, CLEAN: BUSY, WWW: NEWS}, budget=9)

    assert (told.found.url, told.found.reason) == (f"{WWW}/", "fallback")
    assert told.urls == [f"{WWW}/", CLEAN]


def test_slow_down_at_the_first_address_is_the_answer() -> None:
    told = search("paper.example/feed", {CLEAN: BUSY, "http://paper.example/feed": NEWS})

    assert (told.lost.reason, told.lost.status) == ("rate-limited", 429)
    assert told.urls == [CLEAN]


def test_slow_down_at_the_rewritten_address_spares_the_original() -> None:
    told = search(BURNT, {BURNER: BUSY, BURNT: NEWS}, rewrites=(feedburner,))

    assert told.lost.status == 429
    assert told.urls == [BURNER]


def test_what_the_caller_knows_costs_no_request() -> None:
    told = search(f"{WWW}/", {}, known=(CLEAN,))

    assert (told.found.url, told.found.reason, told.found.requests) == (CLEAN, "exists_in_db", 0)
    assert told.found.existing is not None
    assert told.asks == []
    assert told.lookups[0].urls == (CLEAN, WWW, f"{WWW}/")


@pytest.mark.parametrize(
    ("known", "source"),
    [
        ("https://paper.example/rss", "self"),
        ("https://home.example/x", "response"),
        ("https://paper.example/feed?id=1", "response"),
    ],
)
def test_after_the_first_answer_the_caller_is_asked_once_more(known: str, source: str) -> None:
    start = "https://paper.example/feed?id=1"
    web = {
        start: moved("https://home.example/x/"),
        "https://home.example/x/": news("https://www.paper.example/rss"),
    }

    told = search(start, web, known_later=(known,))

    assert (told.found.url, told.found.reason, told.found.requests) == (known, "exists_in_db", 0)
    assert told.urls == [start]
    assert [lookup.after_fetch for lookup in told.lookups] == [False, True]
    if source == "self":
        assert told.found.source == source


def test_an_address_without_a_protocol_may_be_there_by_http_only() -> None:
    plain = "http://paper.example/feed"

    for address in ("paper.example/feed", "feed://paper.example/feed", "//paper.example/feed"):
        told = search(address, {plain: NEWS})
        assert (told.found.url, told.urls) == (plain, [CLEAN, plain])
        assert told.found.input_url == CLEAN


@pytest.mark.parametrize("address", [CLEAN, f"feed:{CLEAN}"])
def test_an_address_that_says_https_is_not_tried_by_http(address: str) -> None:
    told = search(address, {"http://paper.example/feed": NEWS})

    assert told.lost.reason == "not-found"
    assert told.urls == [CLEAN]


def test_a_page_ends_the_search_before_other_protocols_are_tried() -> None:
    told = search("paper.example/feed", {CLEAN: HTML, "http://paper.example/feed": NEWS})

    assert told.lost.reason == "html-page"
    assert told.urls == [CLEAN]


def test_a_rewrite_is_asked_first_and_believed_when_it_is_a_feed() -> None:
    told = search(BURNT, {BURNER: NEWS, BURNT: NEWS}, rewrites=(feedburner,))

    assert (told.found.url, told.urls) == (BURNER, [BURNER])
    assert told.found.input_url == BURNT


@pytest.mark.parametrize("dead", [DEAD, HTML, SILENT])
def test_a_dead_rewrite_gives_way_to_the_original(dead: Page) -> None:
    told = search(BURNT, {BURNER: dead, BURNT: NEWS}, rewrites=(feedburner,))

    assert told.found.url == BURNT
    assert told.urls == [BURNER, BURNT]


def test_without_being_asked_for_no_rewrite_happens() -> None:
    assert search(BURNT, {BURNER: NEWS, BURNT: NEWS}).urls == [BURNT]


def test_a_response_on_a_platform_gets_the_platforms_name_once_that_is_proven() -> None:
    web = {CLEAN: moved(f"{BURNT}?format=xml"), f"{BURNT}?format=xml": NEWS}

    alive = search(CLEAN, {**web, BURNER: NEWS}, rewrites=(feedburner,)).found
    dead = search(CLEAN, web, rewrites=(feedburner,)).found

    assert (alive.url, alive.reason) == (BURNER, "content_verified")
    assert dead.url == f"{BURNT}?format=xml"


def test_a_self_url_is_asked_by_its_platforms_name_and_then_by_its_own() -> None:
    web = {CLEAN: news(BURNT)}

    alive = search(CLEAN, {**web, BURNER: NEWS}, rewrites=(feedburner,))
    dead = search(CLEAN, {**web, BURNT: NEWS}, rewrites=(feedburner,), budget=5)

    assert (alive.found.url, alive.urls) == (BURNER, [CLEAN, BURNER])
    assert (dead.found.url, dead.urls) == (BURNT, [CLEAN, BURNER, BURNT])


def _raises(_: str) -> str | None:
    raise ValueError


@pytest.mark.parametrize("rewrite", [_raises, lambda _: None, lambda _: "file:///etc/passwd"])
def test_a_rewrite_that_fails_or_answers_nonsense_is_as_if_it_were_not_there(
    rewrite: Callable[[str], str | None],
) -> None:
    told = search(CLEAN, {CLEAN: NEWS}, rewrites=(rewrite,))

    assert told.found.url == CLEAN
    assert told.urls == [CLEAN]


def test_the_first_rewrite_that_knows_an_address_speaks() -> None:
    blog = "https://paper.blogspot.de/feeds/posts/default?alt=rss"
    name = "https://paper.blogspot.com/feeds/posts/default?alt=rss"

    found = search(blog, {name: NEWS, blog: NEWS}, rewrites=(feedburner, blogger)).found

    assert found.url == name


def test_a_rewrite_to_http_does_not_leave_https() -> None:
    plain = "http://other.example/x"

    def by_http(url: str) -> str | None:
        return plain if url == "https://home.example/x" else None

    web = {CLEAN: moved("https://home.example/x"), "https://home.example/x": NEWS, plain: NEWS}

    assert search(CLEAN, web, rewrites=(by_http,)).found.url == "https://home.example/x"


QUERY = "https://paper.example/?feed=rss2"


@pytest.mark.parametrize(
    ("web", "url", "asked"),
    [
        ({CLEAN: NEWS}, CLEAN, [CLEAN]),
        ({f"{CLEAN}/": NEWS}, f"{CLEAN}/", [CLEAN, f"{CLEAN}/"]),
        ({CLEAN: moved(QUERY), f"{CLEAN}/": other()}, QUERY, [CLEAN, f"{CLEAN}/"]),
        ({}, QUERY, [CLEAN, f"{CLEAN}/"]),
    ],
)
def test_a_probe_is_adopted_where_it_serves_the_feed(
    web: dict[str, Page], url: str, asked: list[str]
) -> None:
    told = search(QUERY, {QUERY: NEWS, **web}, probes=(wordpress_candidates,))

    assert told.found.url == url
    assert told.urls[1:3] == asked


def test_a_probe_that_names_the_address_itself_is_not_asked() -> None:
    told = search(CLEAN, {CLEAN: NEWS}, probes=(lambda url: (url,),))

    assert told.urls == [CLEAN]


def test_stamped_answers_are_other_feeds_without_the_signature() -> None:
    web = {WWW: news(stamp="monday"), CLEAN: news(stamp="tuesday")}

    assert search(WWW, web).found.reason == "signature_verified"
    assert search(WWW, web, use_signature=False).found.url == WWW


def test_presets_choose_the_spellings() -> None:
    start = f"{WWW}/?utm_source=mail&id=1"
    spellings = {
        "feed-bare": CLEAN,
        "feed-aggressive": f"{CLEAN}?id=1",
        "feed-moderate": f"{WWW}?id=1",
        "feed-conservative": f"{WWW}/?id=1",
    }
    web = {start: NEWS} | dict.fromkeys(spellings.values(), NEWS)

    found = [search(start, web, presets=(name,)).found for name in spellings]

    assert [one.url for one in found] == list(spellings.values())
    assert [(one.preset, one.level) for one in found] == [
        ("feed-bare", 5), ("feed-aggressive", 4), ("feed-moderate", 3), ("feed-conservative", 2)
    ]  # fmt: skip


def test_a_preset_of_ones_own_is_a_preset() -> None:
    mine = UrlPolicy(name="mine", params=("id",))

    found = search(f"{WWW}?id=1", {f"{WWW}?id=1": NEWS, WWW: NEWS}, presets=(mine,),
                   tracking_params=("id",)).found  # fmt: skip

    assert (found.url, found.preset, found.level) == (WWW, "mine", 0)


def test_an_unknown_preset_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownPolicyError, match="feed-aggressive"):
        search(CLEAN, {CLEAN: NEWS}, presets=("tidy",))


def test_the_callers_list_of_tracking_parameters_replaces_ours() -> None:
    start = f"{CLEAN}?from=mail&utm_source=x"
    web = {start: NEWS, f"{CLEAN}?utm_source=x": NEWS}

    assert search(start, web, tracking_params=("from",)).found.url == f"{CLEAN}?utm_source=x"


def test_a_temporary_redirect_elsewhere_with_a_query_is_a_ticket() -> None:
    ticket = "https://cdn.example/paper?token=1"
    told = search(CLEAN, {CLEAN: moved(ticket, temporary=True), ticket: NEWS})

    assert (told.found.url, told.found.response_url) == (CLEAN, CLEAN)


@pytest.mark.parametrize(
    ("target", "temporary"),
    [
        ("https://cdn.example/paper?token=1", False),
        ("https://cdn.example/paper", True),
        ("https://paper.example/rss?id=1", True),
    ],
)
def test_any_other_redirect_names_an_address(target: str, *, temporary: bool) -> None:
    web = {CLEAN: moved(target, temporary=temporary), target: NEWS}

    assert search(CLEAN, web, budget=0).found.url == target


def test_a_self_url_that_hands_out_tickets_is_kept_itself() -> None:
    own, ticket = "https://paper.example/rss", "https://cdn.example/paper?token=1"
    web = {CLEAN: news(own), own: moved(ticket, temporary=True), ticket: NEWS}

    assert search(CLEAN, web).found.url == own


def test_given_credentials_are_no_part_of_any_address() -> None:
    told = search("https://me:secret@www.paper.example/feed", {WWW: NEWS, CLEAN: NEWS})

    assert (told.urls, told.found.url) == ([WWW, CLEAN], CLEAN)
    assert told.found.input_url == WWW


@pytest.mark.parametrize(("bare", "url"), [(NEWS, CLEAN), (DEAD, "https://a.example/x")])
def test_credentials_that_a_redirect_adds_must_not_be_needed(bare: Page, url: str) -> None:
    secret = "https://me:secret@paper.example/feed"
    web = {"https://a.example/x": moved(secret), secret: NEWS, CLEAN: bare}

    told = search("https://a.example/x", web)

    assert told.found.url == url
    assert told.asks[1].role == "bare"


def test_a_self_url_that_leads_to_credentials_is_kept_itself() -> None:
    own, secret = "https://paper.example/rss", "https://me:secret@paper.example/x"

    assert search(CLEAN, {CLEAN: news(own), own: moved(secret), secret: NEWS}).found.url == own


def test_an_address_that_may_not_be_asked_is_not_tried_by_another_scheme() -> None:
    own = "http://10.0.0.1/feed"
    refused = Page(status=None, reason="private-address", spent=False)

    told = search(CLEAN, {CLEAN: news(own), own: refused})

    assert (told.found.url, told.found.requests) == (CLEAN, 0)
    assert told.urls == [CLEAN, own]
