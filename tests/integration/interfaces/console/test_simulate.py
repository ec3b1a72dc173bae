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


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("settings=nonsense", 422, "not a setting and its value"),
        ("settings=no_such=1", 422, "has no setting no_such"),
        ("policy=seed&text=nothing-like-it", 404, "no feed matches"),
    ],
)
def test_what_cannot_be_simulated_is_explained(
    busy: ConsoleMill, query: str, status: int, words: str
) -> None:
    page = busy.browser().open(f"/console/simulate?{query}")

    assert page.status == status
    assert words in text_of(page)
