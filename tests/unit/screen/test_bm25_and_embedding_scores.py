"""Words and vectors as scores, each against texts about anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.sample_topics import BEES, HONEY, REFERENCE, TOPICS, TRAINS

from feedmill.model.screening import Method, ScreenText, Topic, TopicSet
from feedmill.screen.bm25 import build_lexicon, lexical_scores
from feedmill.screen.calibration import (
    EMBEDDING,
    HYBRID,
    LEXICAL,
    calibration_for,
    combined_probability,
    probability,
    scales_of,
    z_score,
)
from feedmill.screen.fusion import (
    THIN,
    description_sentences,
    example_sentences,
    thin_margin,
    thin_scale,
    topic_scores,
)
from feedmill.screen.topics import choose_topics, with_digest

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


def test_a_topic_of_few_examples_is_helped_by_its_description_or_name() -> None:
    bare = Topic(id="x", name="X")

    assert example_sentences(BEES) == BEES.examples
    assert example_sentences(replace(BEES, examples=("a",))) == ("a", BEES.description)
    assert example_sentences(bare) == ("X",)


def test_a_thin_topic_is_its_name_and_description_apart_and_together() -> None:
    assert description_sentences(TRAINS) == (
        "Night trains",
        "Sleeper trains between cities.",
        "Night trains. Sleeper trains between cities.",
    )
    assert description_sentences(Topic(id="x", name="X")) == ("X",)
    assert description_sentences(Topic(id="x", name="")) == ("x",)


def test_examples_are_blended_with_the_description_and_counter_examples_take_away() -> None:
    ordinary = 0.2
    bare = thin_margin([0.4, 0.2], (), (), ordinary)

    assert bare == pytest.approx(0.3 - 0.65 * 0.2)
    assert thin_margin([0.4, 0.2], [0.9], (), ordinary) == pytest.approx(bare + 0.2 * 0.6)
    assert thin_margin([0.4, 0.2], (), [0.5], ordinary) == pytest.approx(bare - 0.5 * 0.2)
    assert thin_margin([0.4, 0.2], (), [0.1], ordinary) == bare


def test_a_name_that_is_near_where_its_description_is_not_is_another_sense() -> None:
    """Opera the browser is near to the name of a topic about stages and singers."""
    same = thin_margin([0.3, 0.3, 0.4], (), (), 0.0)

    assert same == pytest.approx(0.2 * 0.3 + 0.8 * 0.35)
    assert thin_margin([0.9, 0.3, 0.4], (), (), 0.0) == same
    assert thin_margin([0.1, 0.3, 0.4], (), (), 0.0) < same


@given(st.lists(st.floats(-1, 1), max_size=6), st.floats(-1, 1), st.floats(-1, 1))
def test_an_example_like_the_text_never_lowers_and_a_counter_example_never_raises_it(
    examples: list[float], described: float, ordinary: float
) -> None:
    before = thin_margin([described], examples, (), ordinary)

    assert thin_margin([described], [*examples, 1.0], (), ordinary) >= before - 1e-9
    assert thin_margin([described], examples, [1.0], ordinary) <= before + 1e-9


def test_the_scale_of_thin_topics_follows_the_spread_of_an_encoders_cosines() -> None:
    fitted = [-0.076, 0.076]

    same, wider = thin_scale(fitted), thin_scale([2 * one for one in fitted])

    assert same.deviation == pytest.approx(THIN.deviation)
    assert same.mean == pytest.approx(THIN.mean)
    assert wider.deviation == pytest.approx(2 * THIN.deviation)
    assert thin_scale(()) == THIN


THIN_TOPICS = with_digest(
    TopicSet(
        name="thin",
        topics=(
            Topic(
                id="compost",
                name="Kompost",
                description="Aus Abfällen von Küche und Garten wird Humus.",
            ),
            Topic(id="none", name="Zzz"),
        ),
    )
)


def test_one_shared_function_word_is_no_evidence() -> None:
    lexicon = build_lexicon(THIN_TOPICS, REFERENCE)

    found = lexical_scores(ScreenText(ref=1, title="Der Wirt und der Gast aus der Stadt"), lexicon)

    assert all(one.score < 0.25 and one.evidence == () for one in found)


def test_a_compound_word_is_found_by_its_part() -> None:
    lexicon = build_lexicon(THIN_TOPICS, REFERENCE)

    first, _ = lexical_scores(
        ScreenText(ref=1, title="Der Komposthaufen und die Gartenabfälle für das Beet"), lexicon
    )

    assert first.score > 0.25
    assert "komposthaufen" in first.evidence


def test_a_text_in_a_language_that_no_topic_has_is_not_scored() -> None:
    french = ScreenText(ref=1, title="Le miel est dans les ruches des apiculteurs de la vallée")

    assert lexical_scores(french, LEXICON) == ()


@pytest.mark.parametrize(
    "title",
    [
        "Пчеловоды собирают мёд",  # another alphabet, no function word
        "متحف المدينة يزرع أربعمئة شجرة",
        "თბილისში ახალი სახანძრო სადგური",
        "Kunskapen om skogsbränder ökar i kommunen",  # Latin letters and no word that is known
        "Feuerwehr erneuert Brücke",
    ],
)
def test_a_text_whose_language_is_unclear_and_whose_words_are_unknown_is_not_scored(
    title: str,
) -> None:
    assert lexical_scores(ScreenText(ref=1, title=title), LEXICON) == ()


def test_a_title_without_function_words_is_scored_where_its_words_are_known() -> None:
    found = lexical_scores(ScreenText(ref=1, title="School children sang soup recipe"), LEXICON)

    assert [one.topic for one in found] == ["bees", "night-trains"]


def test_a_text_of_unknown_words_is_scored_for_a_topic_that_it_names() -> None:
    found = lexical_scores(ScreenText(ref=1, title="Apiary Zukunft Haus Tal Berg Bahn"), LEXICON)

    assert [one.topic for one in found] == ["bees"]


def test_a_topic_is_compared_with_texts_in_its_own_alphabet() -> None:
    topic = Topic(id="honey", name="Мёд", description="Пчеловоды собирают мёд.")
    lexicon = build_lexicon(with_digest(TopicSet(name="ru", topics=(topic,))), REFERENCE)

    (found,) = lexical_scores(ScreenText(ref=1, title="Пчеловоды продают мёд"), lexicon)

    assert found.evidence
    assert lexical_scores(HONEY, lexicon) == ()


def test_topics_that_were_not_chosen_stay_as_silent_rivals() -> None:
    chosen = choose_topics(TOPICS, ["night-trains"])
    found = lexical_scores(HONEY, build_lexicon(chosen, REFERENCE))

    assert [one.id for one in chosen.rivals] == ["bees"]
    assert {one.topic for one in found} == {"night-trains", "bees"}
    assert set(topic_scores(found, chosen)) == {"night-trains"}


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


def test_a_topic_that_is_half_known_lies_between_the_two_functions() -> None:
    z: dict[Method, float] = {"lexical": 0.0, "embedding": 3.0}

    thin, half, whole = (combined_probability(z, HYBRID, share) for share in (0.0, 0.5, 1.0))

    assert whole < half < thin
    assert combined_probability({"lexical": 2.0}, LEXICAL, 0.0) == probability(
        {"lexical": 2.0}, LEXICAL
    )
