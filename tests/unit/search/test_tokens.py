"""Tokens: what databases index, in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.search.tokens import (
    MAX_CHARS,
    full_text_terms,
    plain_text,
    search_terms,
    tokenise,
    tokens_with_places,
    visible,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Héllo WORLD", "hello world"),
        ("e\u0301te\u0301", "ete"),
        ("Straße Æther Łódź Øre", "strass aeth lodz ore"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("snake_case don't 3.14", "snak case don t 3 14"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyph zerowidth"),
        ("Привет Мир", "привет мир"),
        ("ΑΘΉΝΑ", "αθηνα"),
        ("東京都", "东京 京都 都"),
        ("京", "京"),
        ("ｶﾒﾗ カメラ", "かめ めら ら かめ めら ら"),
        ("iPhone発売", "iphon 発売 売"),
        ("한국어", "한국 국어 어"),
        ("ภาษา", "ภา าษ ษา า"),
        ("", ""),
        ("… — !", ""),
    ],
)
def test_text_is_folded_and_parted(text: str, tokens: str) -> None:
    assert " ".join(tokenise(visible(text))) == tokens


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain & simple", "plain & simple"),
        ("<p>one</p><p>two</p>", " one  two "),
        ("<b>東京</b>都", "東京都"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("<unfinished", "<unfinished"),
    ],
)
def test_markup_is_left_out_and_text_stays(html: str, text: str) -> None:
    assert plain_text(html) == text


def test_title_stands_before_the_text_and_no_phrase_goes_across() -> None:
    assert search_terms("A title", "Short", "<p>Long text</p>") == " a titl | short | long text "
    assert search_terms(None, None, None) == " | "
    assert full_text_terms("<p>Page</p>") == "| page "


def test_summary_that_is_part_of_the_content_is_indexed_once() -> None:
    assert (
        search_terms("T", "the beginning", "<p>the beginning and the end</p>").count("begin") == 1
    )


def test_long_text_is_cut() -> None:
    terms = search_terms("t", "x " * MAX_CHARS, "字" * 2 * MAX_CHARS)

    assert len(terms.encode()) < 900_000


@given(st.text(max_size=60))
def test_tokens_have_letters_and_digits_only_and_their_places(text: str) -> None:
    seen = visible(text)

    tokens = tokenise(seen)

    assert all(token and not any(sign in token for sign in " |\"'*\x00") for token in tokens)
    placed = list(tokens_with_places(seen))
    assert [token for token, _, _ in placed] == tokens
    assert all(0 <= start < end <= len(seen) for _, start, end in placed)
