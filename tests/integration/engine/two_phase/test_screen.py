"""The run over all texts: batches, methods that fail, decisions from outside, an audit."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.support.sample_topics import HONEY, REFERENCE, TOPICS

from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.without_model import LexicalScreener
from feedmill.config import ScreenConfig
from feedmill.engine.two_phase.screen import evaluate, is_audited, screen_texts
from feedmill.errors import ScreenerError
from feedmill.model.screening import EvaluationEntry, Judgement, Method, Score, ScreenText, TopicSet
from feedmill.screen.llm_prompt import scores_of

TEXTS = [HONEY, ScreenText(ref=2, title="Share prices fell", summary="Traders sold.")]


class Failing:
    """A method that answers once and then no more."""

    name: Method = "embedding"
    failure = ""

    def __init__(self) -> None:
        self.calls = 0

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:  # noqa: ARG002
        self.calls += 1
        message = "the model fell over"
        raise ScreenerError(message, reason="model-damaged", hint="install it again")

    async def close(self) -> None:
        pass


def test_suggestions_come_in_the_order_of_the_texts_with_progress_by_batch() -> None:
    steps: list[int] = []

    found = asyncio.run(
        screen_texts(
            TEXTS,
            TOPICS,
            [LexicalScreener(REFERENCE)],
            ScreenConfig(batch=1),
            progress=steps.append,
        )
    )

    assert [(one.candidate_id, one.suggestion) for one in found] == [(1, "keep"), (2, "drop")]
    assert steps == [1, 1]


def test_a_method_that_fails_is_asked_once_and_the_rest_goes_on_degraded() -> None:
    failing, warnings = Failing(), list[str]()

    found = asyncio.run(
        screen_texts(
            TEXTS,
            TOPICS,
            [LexicalScreener(REFERENCE), failing],
            ScreenConfig(batch=1),
            warn=warnings.append,
        )
    )

    assert failing.calls == 1
    assert warnings == [
        "embedding did not answer (model-damaged): the model fell over; install it again"
    ]
    assert all(one.is_degraded for one in found)
    assert found[0].suggestion == "keep"


def test_a_method_that_was_asked_for_and_is_not_there_is_said() -> None:
    (found,) = asyncio.run(
        screen_texts(
            [HONEY],
            TOPICS,
            [LexicalScreener(REFERENCE)],
            ScreenConfig(),
            asked=["lexical", "embedding"],
        )
    )

    assert found.is_degraded
    assert "without embedding" in found.reason


def test_without_any_method_everything_is_unsure() -> None:
    (found,) = asyncio.run(screen_texts([HONEY], TOPICS, [Failing()], ScreenConfig()))

    assert found.suggestion == "unsure"


class Assistant:
    """A method whose judgements were made elsewhere."""

    name: Method = "agent"
    failure = ""

    def __init__(self, *judgements: Judgement) -> None:
        self.judgements = judgements

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:  # noqa: ARG002
        found = [scores_of(one, topics, self.name) for one in self.judgements]
        return tuple(score for scores in found for score in scores)

    async def close(self) -> None:
        pass


def test_decisions_from_outside_stand_with_their_reasons() -> None:
    agent = Assistant(
        Judgement(ref=1, topic=None, score=0.9, reason="an advert", decided_by="the assistant"),
        Judgement(
            ref=2, topic="bees", score=0.9, reason="about apiaries", decided_by="the assistant"
        ),
    )

    found = asyncio.run(
        screen_texts(TEXTS, TOPICS, [LexicalScreener(REFERENCE), agent], ScreenConfig())
    )

    assert [one.suggestion for one in found] == ["drop", "keep"]
    assert [one.decided_by for one in found] == ["the assistant", "the assistant"]
    assert "about apiaries" in found[1].reason


class Silent:
    """A language model that is out."""

    name: Method = "llm"
    failure = ""

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:  # noqa: ARG002
        message = "no answer"
        raise ScreenerError(message, reason="llm-unavailable")

    async def close(self) -> None:
        pass


def test_an_audit_that_gets_no_answer_leaves_a_clear_case_as_it_was() -> None:
    (found,) = asyncio.run(
        screen_texts(
            [HONEY],
            TOPICS,
            [LexicalScreener(REFERENCE), Silent()],
            ScreenConfig(audit_ratio=1.0),
        )
    )

    assert (found.suggestion, found.is_degraded) == ("keep", False)


def test_an_evaluation_goes_on_without_a_method_that_fails() -> None:
    gold = [
        EvaluationEntry(id="1", text=HONEY, topics=("bees",), split="a"),
        EvaluationEntry(id="2", text=TEXTS[1], split="b"),
    ]
    judge = Assistant()

    found = asyncio.run(
        evaluate(gold, TOPICS, [LexicalScreener(REFERENCE), Failing(), judge], ScreenConfig())
    )

    assert {one.method for one in found.qualities} == {"lexical", "agent"}
    assert set(found.splits) == {"a", "b"}
    assert "model-damaged" in found.warnings[0]
    assert found.confusions == ()


def test_the_audit_takes_the_same_few_texts_in_every_run() -> None:
    texts = [ScreenText(ref=number, title=f"Entry {number}") for number in range(5_000)]

    audited = [text.ref for text in texts if is_audited(text, 0.02)]

    assert 60 <= len(audited) <= 140
    assert audited == [text.ref for text in texts if is_audited(text, 0.02)]
    assert not any(is_audited(text, 0.0) for text in texts)


def test_a_memory_that_cannot_be_written_costs_no_result(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database, " * 100)

    async def story() -> dict[str, bytes]:
        memory = ScreeningCache(damaged)
        await memory.put_many("k", {"a": b"1"})
        found = await memory.get_many("k", ["a"])
        await memory.close()
        return found

    assert asyncio.run(story()) == {}


def test_what_is_kept_is_there_in_the_next_run(tmp_path: Path) -> None:
    async def story() -> dict[str, bytes]:
        first = ScreeningCache(tmp_path / "deep" / "m.db")
        await first.put_many("k", {str(n): b"%d" % n for n in range(1_200)})
        await first.close()
        second = ScreeningCache(tmp_path / "deep" / "m.db")
        found = await second.get_many("k", [str(n) for n in range(1_100, 1_300)])
        other = await second.get_many("other", ["1100"])
        await second.close()
        assert other == {}
        return found

    assert len(asyncio.run(story())) == 100
