"""Sketches: keys that equal stories share, bounded work, texts of any script.

Evidence between entries: labelled pairs, and the rules one by one.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.cluster.sketch import (
    POINTS,
    compare,
    is_specific,
    keys_of,
    plain_text,
    shared_part,
    similarity,
    sketch,
    words_of,
)
from feedmill.model.derived.cluster import Sketch, StoryText

_TEXT = " ".join(f"word{number}" for number in range(100))
_PAIRS = json.loads((Path(__file__).parents[2] / "vectors" / "story_pairs.json").read_text())
_LONG = " ".join(f"word{number}" for number in range(120))


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("L\u2019e\u0301te\u0301 a\u0300 la co\u0302te", "L\u2019\u00e9t\u00e9 \u00e0 la c\u00f4te", id="accents apart"),
        pytest.param("\uff21\uff29\u3067\u30cb\u30e5\u30fc\u30b9", "AI\u3067\u30cb\u30e5\u30fc\u30b9", id="full width"),
        pytest.param("\u1112\u1161\u11ab\u1100\u1173\u11af \u1109\u1175\u11ab\u1106\u116e\u11ab", "\ud55c\uae00 \uc2e0\ubb38", id="Hangul in letters"),
    ],
)  # fmt: skip
def test_spellings_of_one_text_have_the_same_words(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


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


def story(given: dict[str, Any]) -> Sketch:
    return sketch(
        StoryText(
            title=given.get("title"),
            html=given["text"],
            links=(given["link"],) if "link" in given else (),
            published=datetime.fromisoformat(given["published"]),
        )
    )


@pytest.mark.parametrize("pair", _PAIRS, ids=lambda pair: pair["why"])
def test_labelled_pair_is_judged_as_a_person_did(pair: dict[str, Any]) -> None:
    one, other = story(pair["a"]), story(pair["b"])

    assert (compare(one, other) is not None) is pair["same"]
    assert compare(one, other) == compare(other, one)


def test_same_link_outweighs_everything() -> None:
    one = sketch(StoryText(title="A", links=("https://paper.example/a",)))
    other = sketch(StoryText(title="B", links=("https://x.example/", "https://paper.example/a")))

    evidence = compare(one, other)

    assert evidence is not None
    assert (evidence.kind, evidence.score) == ("link", 1.0)


def test_same_long_text_is_evidence_and_the_same_short_one_is_not() -> None:
    long, short = StoryText(html=_LONG), StoryText(html="just a few words here")

    evidence = compare(sketch(long), sketch(StoryText(title="Other", html=f"{_LONG} end")))

    assert evidence is not None
    assert evidence.kind == "text"
    assert compare(sketch(short), sketch(short)) is None


def test_short_title_needs_more_common_text_than_a_long_one() -> None:
    beginning, rest = " ".join(f"a{n}" for n in range(10)), " ".join(f"b{n}" for n in range(16))
    one, other = f"{beginning} {rest}", f"{beginning} " + " ".join(f"c{n}" for n in range(16))

    def evidence(title: str) -> object:
        return compare(
            sketch(StoryText(title=title, html=one)), sketch(StoryText(title=title, html=other))
        )

    assert evidence("Two words") is None
    assert evidence("A title of five words") is not None
    assert evidence("Word") is None


def test_title_to_the_second_needs_texts_that_do_not_differ_unless_it_is_long() -> None:
    at = datetime(2026, 3, 1, 7, 14, 23, tzinfo=UTC)
    texts = ("one two three four five six", "seven eight nine ten eleven twelve")

    def evidence(title: str, *, text: tuple[str, str]) -> object:
        one, other = (sketch(StoryText(title=title, html=html, published=at)) for html in text)
        return compare(one, other)

    assert evidence("Swans", text=("", "")) is not None
    assert evidence("Swans", text=texts) is None
    assert evidence("Swans return to the lake", text=texts) is not None


def test_nothing_is_similar_to_no_text() -> None:
    empty, full = sketch(StoryText()), sketch(StoryText(html=_LONG))

    assert similarity(empty, full) == 0.0
    assert shared_part(empty, full, 0.0) == 0.0
    assert compare(empty, empty) is None


def test_similarity_estimates_the_share_of_common_passages() -> None:
    half = " ".join(f"word{number}" for number in range(60))
    one, other = sketch(StoryText(html=_LONG)), sketch(StoryText(html=half))

    alike = similarity(one, other)

    assert 0.3 < alike < 0.7  # 58 of 118 runs
    assert shared_part(one, other, alike) > 0.7


_EXACT = datetime(2026, 3, 1, 7, 14, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("titles", "texts", "at", "kind"),
    [
        pytest.param(
            ("Council 'spin budgets' condemned", "Council 'spin' condemned"), ("", ""), _EXACT,
            "title-and-time", id="much of the title in the same second",
        ),
        pytest.param(
            ("Post reaches Derby late", "Five years in a sack"),
            ("a letter from two thousand and four arrived today", "a letter from two thousand and four came"),
            _EXACT, "text-and-time", id="passages in the same second",
        ),
        pytest.param(
            ("Council 'spin budgets' condemned", "Council 'spin' condemned"), ("", ""),
            _EXACT.replace(second=0), None, id="a whole minute is chosen by a template",
        ),
        pytest.param(
            ("Weather for Derby", "Weather of the week"), ("", ""), _EXACT, None, id="one common word",
        ),
        pytest.param(
            ("Rain and wind in the north of Wales", "Rain and sunshine expected along eastern coasts"), ("", ""),
            _EXACT, None, id="two words of many",
        ),
        pytest.param(("", ""), ("", ""), _EXACT, None, id="nothing but the time"),
    ],
)  # fmt: skip
def test_same_second_counts_with_a_part_of_the_title_or_the_text(
    titles: tuple[str, str], texts: tuple[str, str], at: datetime, kind: str | None
) -> None:
    one, other = (
        sketch(StoryText(title=title, html=text, published=at))
        for title, text in zip(titles, texts, strict=True)
    )

    evidence = compare(one, other)

    assert (None if evidence is None else evidence.kind) == kind
