"""A value that is no choice is answered with the choices there are."""

from typing import Any

import msgspec
import pytest

from feedmill.publish.mistakes import choices_of, mistake_in_words
from feedmill.publish.shapes import FeedWish, WebhookWish


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        pytest.param(
            WebhookWish,
            {"url": "https://a.example/", "payload": "odd"},
            "Invalid enum value 'odd' - at `$.payload`; use one of: compact, full",
            id="a field",
        ),
        pytest.param(
            WebhookWish,
            {"url": "https://a.example/", "types": ["odd"]},
            "Invalid enum value 'odd' - at `$.types[0]`; use one of: new_entry, entry.updated",
            id="an item of a list",
        ),
        pytest.param(
            FeedWish,
            {"url": "a", "user_agent": "a\nb"},
            "a character is not allowed here - at `$.user_agent`",
            id="a pattern",
        ),
        pytest.param(FeedWish, {"url": 5}, "Expected `str`, got `int` - at `$.url`", id="a type"),
    ],
)
def test_mistake_names_the_choices_of_its_field(kind: type, value: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, kind)

    assert mistake_in_words(caught.value, kind).startswith(words)


def test_mistake_at_an_unknown_field_keeps_its_words() -> None:
    problem = msgspec.ValidationError("Invalid enum value 'odd' - at `$.nothing`")

    assert mistake_in_words(problem, FeedWish) == str(problem)


def test_type_without_choices_has_none() -> None:
    assert choices_of(str) == ()
