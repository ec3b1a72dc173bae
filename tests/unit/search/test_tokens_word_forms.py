"""Forms of a word that are found together, and words that stay apart."""

import pytest

from feedmill.search.tokens import token_of


@pytest.mark.parametrize(
    "forms",
    [
        "feed feeds",
        "story stories",
        "release releases released releasing",
        "run running",
        "poll polls polling polled",
        "carry carries carried",
        "computer computers",
        "Haus Häuser Hauses Häusern",
        "Buch Bücher Büchern",
        "Zeitung Zeitungen",
        "Straße Straßen",
        "Regel Regeln",
        "Auto Autos",
    ],
)
def test_forms_of_one_word_are_one_token(forms: str) -> None:
    assert len({token_of(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["news new", "status stat", "glass glas", "string str", "his hi", "was wa", "v2s v2", "это эт"],
)
def test_different_words_stay_apart(words: str) -> None:
    assert len({token_of(word) for word in words.split()}) == 2
