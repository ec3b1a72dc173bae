"""Why no feed was found, in words: numbers and nouns agree, and a choice says what was not requested."""

import pytest

from feedmill.engine.subscribe.discover import no_feed_error, words_of_end
from feedmill.engine.subscribe.resolve_address import FeedChoices
from feedmill.model.canonical import Found, FoundFeed, NotCanonical

SITE = "https://e.example"


def feeds(count: int, *, is_fetched: bool = True) -> tuple[FoundFeed, ...]:
    return tuple(
        FoundFeed(url=f"{SITE}/{number}", found_by="link", is_fetched=is_fetched)
        for number in range(count)
    )


@pytest.mark.parametrize(
    ("budget", "left", "words"),
    [
        (0, 11, "within 0 requests; 11 more addresses were not tried"),
        (1, 2, "within 1 request; 2 more addresses were not tried"),
        (12, 1, "within 12 requests; 1 more address was not tried"),
    ],
)
def test_a_spent_budget_says_what_was_left(budget: int, left: int, words: str) -> None:
    found = Found(feeds=(), reason="budget-spent", untried=feeds(left))

    assert words_of_end(found, budget) == f"no feed was found {words}"


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (feeds(2), "leads to 2 feeds"),
        (feeds(2, is_fetched=False), "leads to 2 feeds, 2 of which were not requested"),
    ],
)
def test_a_choice_says_how_many_feeds_were_not_requested(
    choices: tuple[FoundFeed, ...], words: str
) -> None:
    assert FeedChoices(page_url=SITE, feeds=choices).words == f"{SITE} {words}"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("redirect-loop", "redirects in a circle"),
        ("downgrade", "redirects from https to http, which is not followed"),
        ("local-name", "leads to a private address, which is not fetched"),
        ("empty-body", "answers with nothing"),
    ],
)
def test_a_refusal_says_what_happened(reason: str, words: str) -> None:
    error = no_feed_error(SITE, NotCanonical(reason=reason))

    assert str(error) == f"{SITE} {words} ({reason})"
    assert error.hint
