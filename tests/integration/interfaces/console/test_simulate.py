"""Simulate: the recorded past of some feeds under another policy."""

import pytest
from tests.support.console_client import ConsoleMill, text_of


def test_the_recorded_past_is_replayed_under_another_policy(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/simulate?text=paper&policy=seed&days=7")

    words = text_of(page)
    assert page.status == 200
    assert "1 feed" in words
    assert "recorded" in words
    assert "seed" in words


def test_without_a_policy_only_the_form_is_shown(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/simulate?days=x")

    assert b"<tbody>" not in page.body


def test_when_no_feed_matches_the_page_says_so_beside_its_form(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/simulate?policy=seed&text=nothing-like-it")

    assert page.status == 200
    assert "No feed matches; choose other words or another tag." in text_of(page)
    assert b'value="nothing-like-it"' in page.body


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("settings=nonsense", 422, "not a setting and its value"),
        ("settings=no_such=1", 422, "has no setting no_such"),
    ],
)
def test_what_cannot_be_simulated_is_explained(
    busy: ConsoleMill, query: str, status: int, words: str
) -> None:
    page = busy.browser().open(f"/console/simulate?{query}")

    assert page.status == status
    assert words in text_of(page)
