"""Evidence between entries: labelled pairs, and the rules one by one."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.cluster.evidence import compare, shared_part, similarity
from feedmill.cluster.sketch import sketch
from feedmill.model.derived.cluster import Sketch, StoryText

_PAIRS = json.loads((Path(__file__).parents[2] / "vectors" / "story_pairs.json").read_text())
_LONG = " ".join(f"word{number}" for number in range(120))


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
