"""What a candidate is judged by is what a reader would see of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import ScreenText
from feedmill.screen.texts import clean_line, has_words, joined_text, screen_text_of, script_of


def candidate(**more: object) -> WindowCandidate:
    plain: dict[str, object] = {
        "candidate_id": 7,
        "title": None,
        "published_at": None,
        "feed_title": None,
        "url": None,
        "summary": None,
        "categories": (),
        "dedupe_key": "k",
        "source": 0,
    }
    return WindowCandidate(**(plain | more))  # type: ignore[arg-type]  # a shorthand


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<b>Green</b> <i>power</i>", "Green power"),
        ("a &amp;lt;script&amp;gt;x&amp;lt;/script&amp;gt; b", "a b"),  # escaped twice
        ("a<!-- mark me --> b<script>steal()</script>", "a b"),
        ("a<style>never closed", "a"),
        ("ｆｕｌｌ　width", "full width"),  # NFKC
        ("pa\u200byload\u202e\U000e0041", "payload"),  # unseen characters
        ("two\tlines\r\nhere\x07", "two lines here"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),  # no markup
    ],
)
def test_only_what_can_be_seen_is_left_of_a_field(raw: str, clean: str) -> None:
    assert clean_line(raw, 300) == clean


def test_a_field_is_cut_without_a_blank_at_its_end() -> None:
    assert clean_line("ab cd", 3) == "ab"


@given(st.text(max_size=400))
def test_scrubbed_text_is_printable_and_within_its_limit(raw: str) -> None:
    clean = clean_line(raw, 50)

    assert len(clean) <= 50
    assert clean.isprintable()


def test_a_text_holds_title_summary_categories_and_feed_together() -> None:
    text = screen_text_of(
        candidate(title="T", summary="<p>S</p>", categories=("a", " ", "b" * 99), feed_title="F")
    )

    assert text == ScreenText(
        ref=7, title="T", summary="S", categories=("a", "b" * 60), feed_title="F"
    )
    assert joined_text(text) == f"T. S. a, {'b' * 60}. F"


def test_a_candidate_without_words_is_an_empty_text() -> None:
    assert joined_text(screen_text_of(candidate())) == ""


def test_hidden_characters_are_counted_before_they_are_taken_out() -> None:
    text = screen_text_of(candidate(title="a\U000e0041\u202eb", categories=("\u2066c",)))

    assert (text.title, text.hidden_chars) == ("ab", 3)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Green power", "other"),
        ("绿色电力", "han"),
        ("LCA战机", "han"),  # enough of it
        ("A very long sentence that names 绿 once", "other"),
        ("", "other"),
        ("Зелёная энергия", "other"),
    ],
)
def test_a_text_is_compared_with_texts_of_its_own_script(text: str, script: str) -> None:
    assert script_of(text) == script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ScreenText(ref=1, title="Bees"), True),
        (ScreenText(ref=1, title="", categories=("bees",)), True),
        (ScreenText(ref=1, title="🎉🎉🎉 42"), False),
        (ScreenText(ref=1, title="", feed_title="The Daily Bee"), False),
    ],
)
def test_emoji_and_a_feeds_title_alone_are_nothing_to_read(
    text: ScreenText, expected: object
) -> None:
    assert has_words(text) is expected
