"""Searches as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.errors import UsageError
from feedmill.model.derived.search import SearchQuery
from feedmill.search.query import MAX_QUERY_CHARS, parse_query


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
