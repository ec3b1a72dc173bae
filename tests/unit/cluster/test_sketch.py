"""Sketches: keys that equal stories share, bounded work, texts of any script."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.cluster.sketch import POINTS, is_specific, keys_of, plain_text, sketch, words_of
from feedmill.model.derived.cluster import Sketch, StoryText

_TEXT = " ".join(f"word{number}" for number in range(100))


def test_sketch_has_keys_for_link_title_and_text() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)

    made = sketch(
        StoryText(
            title="Swans return",
            html=f"<p>{_TEXT}</p>",
            links=("https://x.example/a",),
            published=at,
        )
    )

    assert (made.words, made.shingles, made.title_words) == (100, 98, 2)
    assert len(made.minhash) == 2 * POINTS
    assert len(keys_of(made)) == 1 + 1 + 8
    assert all(-(2**63) <= key < 2**63 for key in keys_of(made))
    assert made.published == at.timestamp()


def test_short_text_has_no_bands() -> None:
    assert sketch(StoryText(html="only a few words")).bands == ()
    assert sketch(StoryText()) == Sketch()


@pytest.mark.parametrize(
    "title",
    [
        "Swans return to the lake - Paper",
        "Swans return to the lake | The Paper of Record",
        "Swans return to the lake [Nature]",
        "Swans return to the lake (via Blog)",
        "Paper: Swans return to the lake",
        "[Nature] Swans return to the lake",
    ],
)
def test_what_a_site_adds_to_a_title_is_left_out_of_one_key(title: str) -> None:
    plain, decorated = (
        sketch(StoryText(title="Swans return to the lake")),
        sketch(StoryText(title=title)),
    )

    assert set(plain.titles) < set(decorated.titles)


def test_rest_of_a_title_that_is_too_short_is_no_key() -> None:
    assert len(sketch(StoryText(title="Swans - Paper")).titles) == 1


@pytest.mark.parametrize(("link", "specific"), [
    pytest.param("https://x.example/a", True, id="a page"),
    pytest.param("https://x.example/?p=7", True, id="a page by its number"),
    pytest.param("https://x.example/", False, id="a home page"),
    pytest.param("https://x.example", False, id="a host"),
    pytest.param("https://x.example/index.html", False, id="an index"),
    pytest.param("https://x.example/a#comment-12", False, id="a comment"),
    pytest.param("https://x.example/a#part", True, id="a part of a page"),
])  # fmt: skip
def test_link_that_many_entries_may_have_is_no_evidence(link: str, *, specific: bool) -> None:
    assert is_specific(link) is specific
    assert bool(sketch(StoryText(links=(link,))).links) is specific


def test_words_are_compared_without_case_and_punctuation() -> None:
    assert words_of("“It’s” — DONE… 5%") == words_of("it s done 5")
    assert words_of("天気が良い") == [
        "天".encode(),
        "気".encode(),
        "が".encode(),
        "良".encode(),
        "い".encode(),
    ]


def test_markup_and_references_are_no_words() -> None:
    assert words_of(plain_text("<p>A &amp; B<br>C</p>")) == [b"a", b"b", b"c"]
    assert plain_text("plain") == "plain"


def test_long_text_is_read_up_to_a_limit() -> None:
    assert sketch(StoryText(html="word " * 100_000)).words <= 250


@given(
    st.builds(StoryText, title=st.none() | st.text(), html=st.text(), links=st.tuples(st.text()))
)
def test_any_text_gives_a_sketch_that_survives_its_encoding(text: StoryText) -> None:
    made = sketch(text)

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Sketch) == made


def test_exact_second_is_a_key_and_a_whole_minute_is_none() -> None:
    at = datetime(2026, 3, 1, 7, 14, 23, tzinfo=UTC)

    assert len(keys_of(sketch(StoryText(published=at)))) == 1
    assert keys_of(sketch(StoryText(published=at.replace(second=0)))) == ()
