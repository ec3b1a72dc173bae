"""The search asks little, in a sensible order, and knows when to stop."""

from collections.abc import Callable

import pytest

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.search import DISALLOWED, FindOptions, find_feeds
from feedmill.model.canonical import Ask, Found, Seen

URL = "https://example.com/"
Answerer = Callable[[str], Seen]


def missing(url: str) -> Seen:
    return Seen(url=url, final_url=url, status=404, reason="not-found")


def feed(url: str) -> Seen:
    return Seen(url=url, final_url=url, status=200, is_feed=True)


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


def test_what_a_page_declares_costs_no_request() -> None:
    found, asked = search(
        '<link rel=alternate type="application/rss+xml" href=/x><a href=/rss.xml>'
    )

    assert asked == []
    assert (found.reason, found.proven) == ("declared", None)
    assert [one.url for one in found.feeds] == ["https://example.com/x"]


def test_the_first_feed_ends_the_search_and_other_leads_are_told() -> None:
    html = "<a href=/one.rss></a><a href=/two.rss></a><a href=/three.rss></a>"

    found, asked = search(html, only("https://example.com/two.rss"))

    assert [one.url for one in asked] == [
        "https://example.com/one.rss",
        "https://example.com/two.rss",
    ]
    assert found.reason == "proven"
    assert found.proven == feed("https://example.com/two.rss")
    assert [one.url for one in found.feeds] == [
        "https://example.com/two.rss",
        "https://example.com/three.rss",
    ]
    assert {one.found_by for one in found.untried} == {"guess"}
    assert [(one.status, one.verdict) for one in found.asked] == [
        (404, "not-found"),
        (200, "a feed"),
    ]


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

    found, asked = search("<a href=/owner/repo/feed.xml>RSS</a>", url=url)

    assert [one.role for one in asked] == ["platform", "platform", "platform", "guess", "guess"]
    assert [one.role for one in found.asked] == [one.role for one in asked]


def test_the_budget_ends_the_search() -> None:
    found, asked = search("<p>nothing")

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


COMMENTS = '<link rel=alternate type="application/rss+xml" href=/comments/feed title="Comments">'


def test_where_only_comments_are_declared_the_search_goes_on() -> None:
    found, _ = search(COMMENTS, only("https://example.com/feed"))

    assert found.reason == "proven"
    assert [one.url for one in found.feeds] == [
        "https://example.com/feed",
        "https://example.com/comments/feed",
    ]


def test_comments_are_offered_when_there_is_nothing_else() -> None:
    found, asked = search(COMMENTS)

    assert (found.reason, len(asked), len(found.asked)) == ("declared", 5, 5)
    assert [one.is_comments for one in found.feeds] == [True]


def test_comments_are_asked_last() -> None:
    _, asked = search('<a href="/comments/feed/">', options=FindOptions(budget=100))

    assert asked[-1].url == "https://example.com/comments/feed/"


def test_a_page_without_a_web_address_asks_nothing() -> None:
    found, asked = search("<a href=/rss.xml>", url="about:blank")

    assert (found.reason, asked) == ("nothing-found", [])
