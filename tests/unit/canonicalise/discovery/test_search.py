"""The search asks little, in a sensible order, and knows when to stop.

Handles of the fediverse and what their hosts answer.
"""

import json
from collections.abc import Callable

import pytest

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.search import (
    DISALLOWED,
    FeedsWanted,
    FindOptions,
    check_feeds,
    find_feeds,
    is_handle,
    page_of_account,
    usual_page,
    webfinger_url,
)
from feedmill.model.canonical import Ask, FeedFacts, Found, FoundFeed, Seen

URL = "https://example.com/"
Answerer = Callable[[str], Seen]
PROFILE = "http://webfinger.net/rel/profile-page"
UPDATES = "http://schemas.google.com/g/2010#updates-from"


def missing(url: str) -> Seen:
    return Seen(url=url, final_url=url, status=404, reason="not-found")


def feed(url: str) -> Seen:
    return Seen(url=url, final_url=url, status=200, is_feed=True)


def full(url: str) -> Seen:
    facts = FeedFacts(format="rss20", entries=3)
    return Seen(url=url, final_url=url, status=200, is_feed=True, facts=facts)


def empty(url: str) -> Seen:
    return Seen(url=url, final_url=url, status=200, is_feed=True, facts=FeedFacts(format="rss20"))


def only(*urls: str) -> Answerer:
    return lambda url: feed(url) if url in urls else missing(url)


def search(
    html: str, answer: Answerer = missing, options: FindOptions | None = None, url: str = URL
) -> tuple[Found, list[Ask]]:
    steps = find_feeds(read_page(html, url), options)
    asked: list[Ask] = []
    try:
        question = next(steps)
        while True:
            asked.append(question)
            question = steps.send(answer(question.url))
    except StopIteration as end:
        return end.value, asked


DECLARED = '<link rel=alternate type="application/rss+xml" href=/x><a href=/rss.xml>'


def test_a_declared_feed_is_requested_and_ends_the_search() -> None:
    found, asked = search(DECLARED, only("https://example.com/x", "https://example.com/rss.xml"))

    assert asked == [Ask(url="https://example.com/x", role="declared")]
    assert found.reason == "proven"
    assert [one.url for one in found.feeds] == ["https://example.com/x"]
    assert found.untried[0].url == "https://example.com/rss.xml"


def test_a_declared_feed_that_is_dead_does_not_end_the_search() -> None:
    found, asked = search(DECLARED, only("https://example.com/rss.xml"))

    assert [one.url for one in asked] == ["https://example.com/x", "https://example.com/rss.xml"]
    assert [one.url for one in found.feeds] == ["https://example.com/rss.xml"]
    assert found.failed == missing("https://example.com/x")


def test_declared_feeds_are_offered_unchecked_when_no_request_is_left() -> None:
    found, asked = search(DECLARED, options=FindOptions(budget=0))

    assert (found.reason, asked) == ("declared", [])
    assert [one.url for one in found.feeds] == ["https://example.com/x"]


def test_a_feed_without_entries_stands_behind_one_with_entries() -> None:
    html = (
        '<link rel=alternate type="application/atom+xml" href=/releases.atom>'
        '<link rel=alternate type="application/atom+xml" href=/commits.atom>'
    )

    found, _ = search(html, lambda url: full(url) if "commits" in url else empty(url))

    assert [one.url for one in found.feeds] == [
        "https://example.com/commits.atom",
        "https://example.com/releases.atom",
    ]


def test_a_feed_without_entries_does_not_end_the_search() -> None:
    found, asked = search("<p>", lambda url: full(url) if url.endswith("/atom.xml") else empty(url))

    assert [one.url for one in asked] == [f"{URL}feed", f"{URL}rss.xml", f"{URL}atom.xml"]
    assert found.feeds[0].url == f"{URL}atom.xml"


def test_a_site_that_answers_everything_with_a_page_is_not_guessed_at() -> None:
    def page(url: str) -> Seen:
        return Seen(url=url, final_url=url, status=200, reason="html-page")

    found, asked = search("<a href=/news.rss>", page)

    assert len(asked) == 3
    assert found.reason == "catch-all"
    assert len(found.untried) == 9


@pytest.mark.parametrize(("wanted", "count"), [("first", 2), ("choices", 3), ("all", 4)])
def test_how_many_feeds_are_requested_is_the_callers_choice(
    wanted: FeedsWanted, count: int
) -> None:
    html = "<a href=/1.rss></a><a href=/2.rss></a><a href=/3.rss></a><a href=/comments/feed></a>"
    alive = only(*(f"{URL}{number}.rss" for number in (2, 3)))

    found, asked = search(html, alive, FindOptions(wanted=wanted))

    assert len(asked) == count
    assert found.feeds[0].url == f"{URL}2.rss"


def test_platforms_come_before_anchors_and_anchors_before_guesses() -> None:
    html = '<meta name="generator" content="blogger"><a href=/rss.xml>RSS</a>'

    _, asked = search(html, options=FindOptions(budget=3))

    assert [one.url.removeprefix(URL) for one in asked] == [
        "feeds/posts/default",
        "rss.xml",
        "feed",
    ]


def test_a_platforms_own_word_is_asked_as_such_and_our_ideas_as_guesses() -> None:
    url = "https://github.com/owner/repo"

    html, options = "<a href=/owner/repo/feed.xml>RSS</a>", FindOptions(budget=5)

    found, asked = search(html, options=options, url=url)

    assert [one.role for one in asked] == ["platform", "platform", "platform", "guess", "guess"]
    assert [one.role for one in found.asked] == [one.role for one in asked]


def test_the_budget_ends_the_search() -> None:
    found, asked = search("<p>nothing", options=FindOptions(budget=5))

    assert len(asked) == 5
    assert (found.reason, found.feeds) == ("budget-spent", ())
    assert found.untried[0].url == "https://example.com/rss"


def test_without_a_budget_nothing_is_asked() -> None:
    found, asked = search("<p>", options=FindOptions(budget=0))

    assert (found.reason, asked) == ("budget-spent", [])


def test_when_everything_was_asked_nothing_is_left() -> None:
    found, asked = search("<p>", options=FindOptions(budget=100))

    assert (found.reason, found.untried) == ("nothing-found", ())
    assert len({one.url for one in asked}) == len(asked) == 11


def test_guesses_and_anchors_can_be_left_out() -> None:
    found, asked = search("<a href=/rss.xml>", options=FindOptions(anchors=False, guesses=False))

    assert (found.reason, asked) == ("nothing-found", [])


@pytest.mark.parametrize(
    "answer",
    [
        lambda url: Seen(url=url, final_url=url, status=429, reason="client-error"),
        lambda url: Seen(url=url, final_url=url, spent=False, reason="rate-limited"),
    ],
)
def test_the_first_call_for_patience_ends_the_search(answer: Answerer) -> None:
    found, asked = search("<p>", answer)

    assert len(asked) == 1
    assert found.reason == "rate-limited"
    assert len(found.untried) == 10


def test_what_was_never_sent_costs_nothing() -> None:
    def refused(url: str) -> Seen:
        return Seen(url=url, final_url=url, spent=False, reason="private-address")

    found, asked = search("<p>", refused)

    assert (found.reason, len(asked)) == ("nothing-found", 11)


def test_a_ban_by_robots_is_told() -> None:
    def banned(url: str) -> Seen:
        return Seen(url=url, final_url=url, spent=False, reason=DISALLOWED)

    found, _ = search("<p>", banned)

    assert found.reason == "disallowed"
    assert {one.verdict for one in found.asked} == {"robots-disallowed"}


def test_an_origin_that_does_not_answer_is_not_asked_again() -> None:
    def silent(url: str) -> Seen:
        if url.startswith("https://dead.example/"):
            return Seen(url=url, final_url=url, reason="timeout")
        return missing(url)

    html = '<a href="https://dead.example/a.rss"></a><a href="https://dead.example/b.rss"></a>'

    _, asked = search(html, silent)

    assert sum(one.url.startswith("https://dead.example/") for one in asked) == 1


def test_an_answer_without_a_reason_is_no_feed() -> None:
    found, _ = search("<p>", lambda url: Seen(url=url, final_url=url, status=200))

    assert {one.verdict for one in found.asked} == {"no feed"}
    assert found.reason == "catch-all"


COMMENTS = '<link rel=alternate type="application/rss+xml" href=/comments/feed title="Comments">'


def test_where_only_comments_are_declared_the_search_goes_on() -> None:
    found, _ = search(COMMENTS, only("https://example.com/feed"))

    assert found.reason == "proven"
    assert [one.url for one in found.feeds] == [
        "https://example.com/feed",
        "https://example.com/comments/feed",
    ]


def test_comments_are_offered_when_there_is_nothing_else() -> None:
    found, asked = search(COMMENTS, only("https://example.com/comments/feed"))

    assert (found.reason, len(asked), len(found.asked)) == ("proven", 12, 12)
    assert [one.is_comments for one in found.feeds] == [True]


def test_comments_are_asked_last() -> None:
    _, asked = search('<a href="/comments/feed/">', options=FindOptions(budget=100))

    assert asked[-1].url == "https://example.com/comments/feed/"


def test_a_page_without_a_web_address_asks_nothing() -> None:
    found, asked = search("<a href=/rss.xml>", url="about:blank")

    assert (found.reason, asked) == ("nothing-found", [])


def test_feeds_that_are_known_by_name_are_requested_without_a_page() -> None:
    steps = check_feeds(
        [FoundFeed(url=f"{URL}{one}", found_by="list") for one in "ab"], FindOptions()
    )

    assert next(steps).url == f"{URL}a"
    assert steps.send(missing(f"{URL}a")).url == f"{URL}b"
    with pytest.raises(StopIteration) as end:
        steps.send(feed(f"{URL}b"))

    assert [one.url for one in end.value.value.feeds] == [f"{URL}b"]


@pytest.mark.parametrize(
    "text", ["@ada@social.example", "ada@social.example", "acct:ada@Social.example", " @a.b@x.y "]
)
def test_an_account_of_the_fediverse_is_a_handle(text: str) -> None:
    assert is_handle(text)


@pytest.mark.parametrize(
    "text",
    ["@ada", "ada@localhost", "@ada.bsky.social", "https://a.example/@b", "mailto:a@b.c", ""],
)
def test_other_texts_are_no_handles(text: str) -> None:
    assert not is_handle(text)


def test_the_host_of_a_handle_is_asked() -> None:
    handle = "@ada@Social.example"

    assert webfinger_url(handle) == (
        "https://social.example/.well-known/webfinger?resource=acct:ada@social.example"
    )
    assert usual_page(handle) == "https://social.example/@ada"


@pytest.mark.parametrize(
    ("links", "page"),
    [
        ([{"rel": PROFILE, "href": "https://x.example/@ada"}], "https://x.example/@ada"),
        (
            [{"rel": PROFILE, "href": "https://x.example/"}, {"rel": UPDATES, "href": "https://x.example/ada.atom"}],
            "https://x.example/ada.atom",
        ),
        ([{"rel": "self", "type": "application/rss+xml", "href": "https://x.example/f"}], "https://x.example/f"),
        ([{"rel": PROFILE, "href": "javascript:alert(1)"}], None),
        ([{"rel": PROFILE, "href": 7}, "x", None], None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_feed_of_an_account_comes_before_its_page(links: object, page: str | None) -> None:
    assert page_of_account(json.dumps({"links": links}).encode()) == page


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"<html>", b'"x"', b'{"links": "x"}', b"\xff"),
        b'{"links": [{"rel": "self", "href": "https://x.example/\xff"}]}',
        b"[" * 50_000,
    ],
)
def test_an_answer_that_is_no_account_names_nothing(body: bytes) -> None:
    assert page_of_account(body) is None
