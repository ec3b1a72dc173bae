"""Evaluation sets are read as people write them, and figures are what the textbooks say."""

import pytest
from msgspec.structs import replace
from tests.support.sample_topics import TOPICS

from feedmill.errors import TopicError
from feedmill.model.screening import EvaluationEntry, Screening, ScreenText, Suggestion
from feedmill.screen.evaluate import about_only, auc, confusions, f1_at, qualities, read_gold


def gold(number: int, *topics: str) -> EvaluationEntry:
    return EvaluationEntry(
        id=str(number), text=ScreenText(ref=number, title=f"t{number}"), topics=topics
    )


SET = [gold(1, "bees"), gold(2, "bees"), gold(3), gold(4)]
SCORES = {1: {"bees": 0.9}, 2: {"bees": 0.4}, 3: {"bees": 0.7, "night-trains": 0.2}}


def test_precision_recall_and_f1_are_those_of_the_threshold() -> None:
    overall, bees, trains = qualities(SET, SCORES, TOPICS, method="lexical", threshold=0.6)

    assert (overall.topic, overall.texts, overall.relevant) == ("any", 4, 2)
    assert (overall.precision, overall.recall, overall.f1) == (0.5, 0.5, 0.5)
    assert overall.auc == 0.75
    assert bees.topic == "bees"
    assert 0 <= bees.f1_cross <= 1
    assert (trains.precision, trains.recall, trains.f1, trains.auc) == (0, 0, 0, 0.5)


def test_the_share_of_unsure_is_that_of_the_suggestions() -> None:
    verdicts: tuple[Suggestion, ...] = ("unsure", "keep", "drop", "unsure")
    said = [
        Screening(candidate_id=n, suggestion=s, topic="bees", score=0.5, methods=(), reason="")
        for n, s in enumerate(verdicts, 1)
    ]

    overall, bees, trains = qualities(
        SET, SCORES, TOPICS, method="m", threshold=0.6, screenings=said
    )

    assert (overall.unsure, overall.keep) == (0.5, 0.25)
    assert (bees.unsure, trains.unsure) == (0.5, 0.0)
    assert f1_at([(0.9, True), (0.1, False)], 0.5) == 1.0


def test_an_entry_about_another_topic_only_is_about_nothing() -> None:
    both = [gold(1, "bees", "night-trains"), gold(2, "night-trains")]
    bees = replace(TOPICS, topics=TOPICS.topics[:1])

    found = about_only(both, bees)

    assert [one.topics for one in found] == [("bees",), ()]


def test_the_area_counts_ties_half() -> None:
    assert auc([(1.0, True), (0.0, False)]) == 1.0
    assert auc([(0.5, True), (0.5, False)]) == 0.5
    assert auc([(0.0, True), (1.0, False)]) == 0.0
    assert auc([(1.0, True)]) == 0.5


def test_mistakes_are_listed_with_the_most_certain_first() -> None:
    said = [
        Screening(candidate_id=n, suggestion="drop", topic=None, score=s, methods=(), reason="")
        for n, s in ((1, 0.9), (2, 0.5), (3, 0.95), (4, 0.1))
    ]

    assert [one.id for one in confusions(SET, said, 0.6)] == ["3", "2"]


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a", "title": "T", "topics": ["bees"]}',
        '{"id": "a", "title": "T", "topic": "Beekeeping", "feed": "F", "categories": ["c"]}',
        '[{"id": "a", "title": "T", "labels": ["养蜂"], "summary": null}]',
    ],
)
def test_a_set_may_be_lines_or_a_list_with_topics_by_any_name(line: str) -> None:
    (one,) = read_gold(line, TOPICS)

    assert (one.id, one.text.title, one.topics) == ("a", "T", ("bees",))


def test_entries_without_topics_are_about_nothing() -> None:
    found = read_gold('{"title": "T"}\n\n{"title": "U", "topics": [], "split": "x"}\n', TOPICS)

    assert [(one.id, one.topics, one.split) for one in found] == [("1", (), ""), ("2", (), "x")]


@pytest.mark.parametrize("text", ["nonsense", "[1, 2]", '{"title": "T", "topics": ["ships"]}'])
def test_a_set_that_cannot_be_read_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(TopicError):
        read_gold(text, TOPICS)
