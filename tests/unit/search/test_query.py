"""Searches as people type them.

The order of matches.

Matches marked in plain text.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.errors import UsageError
from feedmill.model.derived.search import Fragment, SearchQuery
from feedmill.search.query import MAX_QUERY_CHARS, highlight, parse_query, score
from feedmill.search.tokens import search_terms


def written(query: SearchQuery) -> str:
    """The query on one line: alternatives with /, tokens side by side with +, prefixes with a star."""

    def clause(terms: object) -> str:
        return "/".join("+".join(one.tokens) + "*" * one.prefix for one in terms)  # type: ignore[attr-defined]

    parts = [clause(one.terms) for one in query.required]
    return " ".join([*parts, *(f"-{clause([one])}" for one in query.excluded)])


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Python releases", "python releas"),
        ('"python releases"', "python+releas"),
        ('"unfinished phrase', "unfinish+phras"),
        ('""  word', "word"),
        ('"one"', "one"),
        ("python -snake", "python -snak"),
        ('python -"in the garden"', "python -in+the+gard"),
        ("python -東京都", "python -东京+京都"),
        ("hous*", "hous/hous*"),
        ('"old hous*"', "old+hous*"),
        ("3.14 don't", "3+14 don+t"),
        ("müller", "mull/muell"),
        ("mueller", "muell/mull"),
        ("queue", "queu"),
        ("the weather in Köln", "weath koln/koel"),
        ("to be", "to be"),
        ("京都", "京都"),
        ("京", "京*"),
        ("東京の天気", "东京 天気"),
        ("発表した", "発表"),
        ("食べる", "食べ/食*"),
        ("走る", "走る/走*"),
        ("コンピューター", "こん+んぴ+ぴゅ+ゅー+ーた"),
        ("バター", "ばた+たー"),
        ("iPhone発売", "iphon 発売"),
        ('"iPhone 発売 2026"', "iphon+発売+売+2026"),
        ('"東京 タワー"', "东京+京+たわ+わー"),
    ],
)
def test_search_is_read(text: str, query: str) -> None:
    assert written(parse_query(text)) == query


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "nothing to search for"),
        ("…", "nothing to search for"),
        ("-snake", "nothing to search for"),
        ("x" * (MAX_QUERY_CHARS + 1), "too long"),
        ("ab " * 40, "too many words"),
    ],
)
def test_search_that_has_no_meaning_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse_query(text)


@given(st.text(max_size=80))
def test_any_text_is_a_search_or_a_usage_error(text: str) -> None:
    try:
        query = parse_query(text)
    except UsageError:
        return
    terms = [one for clause in query.required for one in clause.terms]
    assert all(term.tokens and all(term.tokens) for term in terms)


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
