"""The order of matches."""

import pytest

from feedmill.search.query import parse_query
from feedmill.search.rank import score
from feedmill.search.tokens import search_terms


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("python", ("Python", "other words"), ("Other words", "python")),
        ("python", ("Python", "x"), ("A long title that has python in it", "x")),
        ("python", ("t", "python and python"), ("t", "python")),
        ("python", ("t", "python"), ("t", "python " + "word " * 500)),
        ("python release", ("t", "a python release"), ("t", "release of a python")),
        ("müller", ("Mueller", "x"), ("x", "Müller")),
    ],
    ids=["in the title", "a short title", "more often", "a short text", "side by side", "spelling"],
)
def test_better_match_has_the_higher_score(
    query: str, better: tuple[str, str], worse: tuple[str, str]
) -> None:
    asked = parse_query(query)

    first, second = (
        score(asked, search_terms(title, None, text)) for title, text in (better, worse)
    )

    assert first > second
