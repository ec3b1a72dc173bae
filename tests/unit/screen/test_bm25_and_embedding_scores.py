"""Words and vectors as scores, each against texts about anything else."""

import pytest
from msgspec.structs import replace
from tests.support.sample_topics import BEES, HONEY, REFERENCE, TOPICS, TRAINS

from feedmill.model.screening import ScreenText, Topic, TopicSet
from feedmill.screen.bm25 import build_lexicon, lexical_scores
from feedmill.screen.calibration import (
    EMBEDDING,
    HYBRID,
    LEXICAL,
    calibration_for,
    probability,
    scales_of,
    z_score,
)
from feedmill.screen.embedding_scores import (
    background_sentences,
    background_similarity,
    example_sentences,
    margin,
)
from feedmill.screen.topics import with_digest

LEXICON = build_lexicon(TOPICS, REFERENCE)


def test_a_text_scores_highest_for_the_topic_whose_words_it_uses() -> None:
    bees, trains = lexical_scores(HONEY, LEXICON)

    assert bees.score > 0.8 > 0.3 > trains.score
    assert {"beekeepers", "hives", "apiary"} <= set(bees.evidence)
    assert trains.reason == "no telling words"


def test_evidence_joins_pairs_of_characters_into_the_words_they_are() -> None:
    found = lexical_scores(ScreenText(ref=1, title="养蜂人采收蜂蜜"), LEXICON)

    assert any(len(word) > 2 for word in found[0].evidence)


def test_a_topic_without_examples_in_a_script_is_not_scored_there() -> None:
    found = lexical_scores(ScreenText(ref=1, title="夜间列车开通", summary="卧铺车厢"), LEXICON)

    assert [score.topic for score in found] == ["bees"]


def test_a_word_that_only_sounds_like_the_topic_speaks_against_it() -> None:
    text = ScreenText(ref=1, title="Spelling pupil")

    assert lexical_scores(text, LEXICON)[0].raw < 0


def test_scales_are_made_script_by_script_and_never_divide_by_nothing() -> None:
    scales = scales_of([("han", {"a": 1.0, "b": 0.0}), ("han", {"a": 3.0, "b": 0.0})])

    assert z_score(3.0, scales["han", "a"]) == pytest.approx(1.0)
    assert z_score(0.0, scales["han", "b"]) == 0
    assert scales["han", "b"].deviation > 0
    assert ("other", "a") not in scales


def test_the_margin_is_the_nearer_half_less_two_thirds_of_the_ordinary() -> None:
    ordinary = background_similarity([0.1, 0.4, 0.3, 0.2])

    assert ordinary == pytest.approx(0.3)
    assert margin([0.9, 0.7, 0.1], ordinary) == pytest.approx(0.8 - 0.65 * 0.3)
    assert margin([0.5], background_similarity([])) == 0.5


def test_a_topic_of_few_examples_is_helped_by_its_description_or_name() -> None:
    bare = Topic(id="x", name="X")

    assert example_sentences(BEES) == BEES.examples
    assert example_sentences(replace(BEES, examples=("a",))) == ("a", BEES.description)
    assert example_sentences(bare) == ("X",)


def test_the_background_is_anything_else_and_what_sounds_alike() -> None:
    topics = with_digest(TopicSet(name="t", topics=(BEES, TRAINS), background=("Rates rose.",)))

    assert background_sentences(topics) == ("Rates rose.", *BEES.not_examples)


def test_probabilities_grow_with_z_and_never_overflow() -> None:
    assert probability({"lexical": -1e9}, LEXICAL) < 1e-9
    assert probability({"lexical": 1e9}, LEXICAL) > 1 - 1e-9
    assert probability({"lexical": 1.0}, HYBRID) < probability(
        {"lexical": 1.0, "embedding": 2.0}, HYBRID
    )


def test_the_function_fits_the_methods_that_answered() -> None:
    own = replace(HYBRID, bias=-1.0, labels=30)

    assert calibration_for(["lexical", "embedding", "llm"], None) == HYBRID
    assert calibration_for(["embedding"], None) == EMBEDDING
    assert calibration_for(["lexical"], own) == LEXICAL
    assert calibration_for(["lexical", "embedding"], own) == own
    assert calibration_for(["llm"], None) is None
