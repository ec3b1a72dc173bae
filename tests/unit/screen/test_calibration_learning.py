"""Confirmations are labels, and twenty of them bend the function without breaking it."""

from tests.support.sample_topics import score

from feedmill.model.screening import Label, Screening
from feedmill.screen.calibration import EMBEDDING, labels_of, learn, probability


def label(z: float, *, relevant: bool, topic_set: str = "v1") -> Label:
    return Label(topic_set=topic_set, topic="bees", z={"embedding": z}, is_relevant=relevant)


def screening(number: int, topic: str | None, **more: object) -> Screening:
    plain: dict[str, object] = {
        "suggestion": "unsure",
        "score": 0.5,
        "methods": (),
        "reason": "",
        "topic_set": "v1",
    }
    return Screening(candidate_id=number, topic=topic, **(plain | more))  # type: ignore[arg-type]  # a shorthand


def test_the_confirmed_are_relevant_and_the_rest_that_was_shown_is_not() -> None:
    scores = (score("bees", "embedding", z=2.0), score("bees", "llm", value=1.0))
    found = labels_of(
        [
            screening(1, "bees", scores=scores),
            screening(2, None, scores=scores),
            screening(3, "bees", scores=scores),
            screening(4, None),
        ],
        confirmed={1},
        shown={1, 2, 4},
    )

    assert [(one.is_relevant, one.topic, one.z) for one in found] == [
        (True, "bees", {"embedding": 2.0}),
        (False, "bees", {"embedding": 2.0}),
    ]


def test_nothing_is_learnt_from_few_or_one_sided_or_foreign_labels() -> None:
    good = [label(3.0, relevant=True)] * 17 + [label(0.0, relevant=False)] * 3

    assert learn(good[1:], ["embedding"], "v1") is None
    assert learn([label(3.0, relevant=True)] * 30, ["embedding"], "v1") is None
    assert learn(good, ["embedding"], "v2") is None
    assert learn(good, ["lexical"], "v1") is None
    assert learn(good, ["llm"], "v1") is None
    assert learn(good, ["embedding"], "v1") is not None


def test_labels_move_the_border_towards_what_people_confirm() -> None:
    wanted = [label(1.0 + number / 20, relevant=True) for number in range(30)]
    other = [label(-1.0 + number / 20, relevant=False) for number in range(30)]

    learnt = learn(wanted + other, ["embedding"], "v1")

    assert learnt is not None
    assert learnt.labels == 60
    before, after = (probability({"embedding": 1.2}, one) for one in (EMBEDDING, learnt))
    assert before < 0.3 < 0.5 < after


def test_a_method_never_speaks_against_itself() -> None:
    turned = [label(4.0, relevant=False)] * 40 + [label(-4.0, relevant=True)] * 40

    learnt = learn(turned, ["embedding"], "v1")

    assert learnt is not None
    assert learnt.weights["embedding"] >= 0
