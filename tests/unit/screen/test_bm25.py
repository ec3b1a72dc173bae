"""Every script gives terms, and spellings of one word give one term."""

import pytest

from feedmill.model.derived.search import to_simplified_chinese
from feedmill.screen.bm25 import tokenise, tokenise_with_positions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The emissions of cities", ["emission", "city"]),
        ("emission", ["emission"]),
        ("packaging packaged", ["packag", "packag"]),
        ("bus gas", ["bus", "gas"]),  # too short to lose an ending
        ("绿色电力", ["绿色", "色电", "电力"]),
        ("绿", ["绿"]),
        ("的", []),
        ("綠色", ["绿色"]),
        ("зелёная", ["зеленая"]),
        ("한국어", ["한국", "국어"]),
        ("LCA战机", ["lca", "战机"]),
        ("a I x", []),
    ],
)
def test_a_text_gives_words_and_pairs_of_characters(text: str, expected: list[str]) -> None:
    assert tokenise(text) == expected


def test_terms_know_where_they_stand() -> None:
    folded, found = tokenise_with_positions("Wind 風電")

    assert [(term, folded[start:end]) for term, start, end in found] == [
        ("wind", "wind"),
        ("风电", "风电"),
    ]


def test_traditional_characters_fold_one_to_one() -> None:
    assert to_simplified_chinese("綠色設計與環境評價") == "绿色设计与环境评价"
