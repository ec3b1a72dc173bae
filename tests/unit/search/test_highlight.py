"""Matches marked in plain text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.derived.search import Fragment
from feedmill.search.highlight import highlight
from feedmill.search.query import parse_query


def marked(fragments: tuple[Fragment, ...]) -> str:
    return "".join(f"[{one.text}]" if one.match else one.text for one in fragments)


@pytest.mark.parametrize(
    ("query", "text", "shown"),
    [
        ("house", "Two houses, one <b>house</b>.", "Two [houses], one [house]."),
        ("cafe", "Das Café", "Das [Café]"),
        ('"old house"', "old house, house old", "[old house], house old"),
        ("hou*", "a houseboat", "a [houseboat]"),
        ("東京都", "新東京都庁", "新[東京都]庁"),
        ("都", "東京都", "東京[都]"),
        ("東京 京都 東京都庁", "東京都庁", "[東京都庁]"),
        ("カメラ", "ｶﾒﾗで", "[カメラ]で"),
        ("absent", "nothing here", "nothing here"),
        ("script", "a &lt;script&gt; tag", "a <[script]> tag"),
        ("x", None, ""),
    ],
)
def test_matches_are_marked_in_plain_text(query: str, text: str | None, shown: str) -> None:
    found = highlight(parse_query(query), None, (None, text))

    assert marked(found.excerpt) == shown


def test_title_is_marked_too_and_the_text_with_a_match_is_taken() -> None:
    found = highlight(parse_query("house"), "The  House", ("a summary", "of a house"))

    assert marked(found.title) == "The [House]"
    assert marked(found.excerpt) == "of a [house]"


def test_excerpt_is_cut_around_the_part_with_the_most_matches() -> None:
    text = "house " + "word " * 100 + "the house is a house " + "word " * 100

    found = marked(highlight(parse_query("house"), None, (text,)).excerpt)

    assert found.startswith("…")
    assert found.endswith("…")
    assert "the [house] is a [house]" in found
    assert len(found) < 260


def test_text_without_spaces_is_cut_anywhere() -> None:
    found = marked(
        highlight(parse_query("東京"), None, ("字" * 400 + "東京" + "字" * 400,)).excerpt
    )

    assert "[東京]" in found
    assert len(found) < 260


@given(st.text(max_size=40), st.text(max_size=400))
def test_fragments_are_the_text_and_never_empty(title: str, text: str) -> None:
    found = highlight(parse_query("ab e"), title, (text,))

    assert all(one.text for one in (*found.title, *found.excerpt))
