"""The real model: across languages, remembered, and as good on held-out texts as we say."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from feedmill.adapters.screeners import bundled_data
from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.embedding import EmbeddingScreener
from feedmill.adapters.screeners.model_files import model_path
from feedmill.app.screeners import default_topics, evaluation_set, open_screeners
from feedmill.config import Config, ScreenConfig, StoreConfig
from feedmill.engine.two_phase.screen import Evaluation, evaluate, screen_texts
from feedmill.errors import ScreenerError
from feedmill.model.screening import EvaluationSet, Screening, ScreenText, TopicSet
from feedmill.screen.evaluate import read_gold
from feedmill.screen.injection_signs import signs_of
from feedmill.screen.texts import script_of
from feedmill.screen.topics import with_digest


def config_in(home: Path, models: Path) -> Config:
    return Config(
        store=StoreConfig(home=str(home)), screen=ScreenConfig(model_dir=str(models), threads=2)
    )


def screened(
    texts: Sequence[ScreenText], topics: TopicSet, config: Config
) -> tuple[Screening, ...]:
    async def story() -> tuple[Screening, ...]:
        async with open_screeners(config) as opened:
            assert opened.warnings == ()
            return await screen_texts(
                texts, topics, opened.screeners, config.screen, asked=opened.asked
            )

    return asyncio.run(story())


def test_the_hybrid_beats_words_and_reaches_its_mark_on_texts_it_was_not_tuned_on(
    tmp_path: Path, models: Path
) -> None:
    config = config_in(tmp_path, models)
    topics = default_topics()
    gold = read_gold(evaluation_set(), topics)

    async def story() -> Evaluation:
        async with open_screeners(config) as opened:
            return await evaluate(gold, topics, opened.screeners, config.screen)

    found = asyncio.run(story())
    held = {one.method: one for one in found.splits["held-out"] if one.topic == "any"}

    assert len(gold) >= 240
    assert held["hybrid"].f1 >= 0.9
    assert held["hybrid"].auc >= 0.97
    assert held["hybrid"].f1 > held["lexical"].f1
    assert held["lexical"].f1 >= 0.85
    assert all(one.f1 >= 0.7 for one in found.qualities if one.method == "hybrid")


def test_the_hybrid_reaches_its_mark_on_texts_by_another_hand(tmp_path: Path, models: Path) -> None:
    config = config_in(tmp_path, models)
    topics = default_topics()
    gold = read_gold(evaluation_set("independent"), topics)

    async def story() -> Evaluation:
        async with open_screeners(config) as opened:
            return await evaluate(gold, topics, opened.screeners, config.screen)

    found = asyncio.run(story())
    held = {one.method: one for one in found.splits["held-out"] if one.topic == "any"}

    assert held["hybrid"].f1 >= 0.9
    assert held["hybrid"].auc >= 0.97
    assert held["hybrid"].f1 > held["lexical"].f1
    assert all(one.f1 >= 0.7 for one in found.qualities if one.method == "hybrid")


@pytest.mark.parametrize("name", get_args(EvaluationSet))
def test_the_evaluation_sets_are_half_chinese_and_free_of_false_alarms(
    name: EvaluationSet,
) -> None:
    topics = default_topics()
    gold = read_gold(evaluation_set(name), topics)

    chinese = sum(one.lang == "zh" for one in gold)

    assert 0.45 <= chinese / len(gold) <= 0.55
    assert len({one.id for one in gold}) == len(gold)
    assert [one.id for one in gold if signs_of(one.text, topics)] == []


def test_a_topic_in_chinese_finds_texts_in_english(tmp_path: Path, models: Path) -> None:
    """Words cannot do that: they have no score here at all."""
    ours = default_topics()
    only_chinese = with_digest(
        TopicSet(
            name="zh",
            topics=tuple(
                replace(
                    topic,
                    description="",
                    examples=tuple(one for one in topic.examples if script_of(one) == "han"),
                )
                for topic in ours.topics
            ),
            background=ours.background,
        )
    )
    texts = [
        ScreenText(ref=1, title="Wind farms sign power purchase agreements with chip makers"),
        ScreenText(ref=2, title="Midfielder misses the cup final with a knee injury"),
    ]

    about, other = screened(texts, only_chinese, config_in(tmp_path, models))

    assert (about.suggestion, about.topic) == ("keep", "green-electricity")
    assert about.methods == ("embedding",)
    assert other.suggestion == "drop"


def test_a_window_of_three_is_scored_like_a_window_of_many(tmp_path: Path, models: Path) -> None:
    topics = default_topics()
    texts = [one.text for one in read_gold(evaluation_set(), topics)][:40]
    config = config_in(tmp_path, models)

    many = screened(texts, topics, config)
    few = screened(texts[:3], topics, config)

    assert [(one.suggestion, one.topic) for one in few] == [
        (one.suggestion, one.topic) for one in many[:3]
    ]
    assert [one.score for one in few] == pytest.approx([one.score for one in many[:3]], abs=1e-3)


def test_vectors_are_remembered_so_that_a_second_run_encodes_nothing(
    tmp_path: Path, models: Path
) -> None:
    topics = default_topics()
    encoded: list[int] = []

    class Counting(EmbeddingScreener):
        def _encode(self, passages: dict[str, str]) -> dict[str, bytes]:
            encoded.append(len(passages))
            return super()._encode(passages)

    async def run() -> tuple[float, ...]:
        memory = ScreeningCache(tmp_path / "screening.db")
        screener = Counting(model_path(models), memory, bundled_data.reference_texts())
        scores = await screener.score([ScreenText(ref=1, title="绿电交易")], topics)
        assert await screener.score([], topics) == ()
        await screener.close()
        await memory.close()
        return tuple(one.raw for one in scores)

    first = asyncio.run(run())
    before = sum(encoded)
    second = asyncio.run(run())

    assert before > 200
    assert sum(encoded) == before
    assert first == second


def test_without_the_model_the_hybrid_goes_on_degraded_and_says_so(tmp_path: Path) -> None:
    config = config_in(tmp_path, tmp_path / "nowhere")

    async def story() -> tuple[tuple[str, ...], tuple[Screening, ...]]:
        async with open_screeners(config) as opened:
            texts = [ScreenText(ref=1, title="绿电交易", summary="企业购买可再生能源电力。")]
            found = await screen_texts(
                texts,
                default_topics(),
                opened.screeners,
                config.screen,
                asked=opened.asked,
            )
            return opened.warnings, found

    warnings, (found,) = asyncio.run(story())

    assert "feedmill models install" in warnings[0]
    assert found.is_degraded
    assert found.methods == ("lexical",)


def test_meaning_alone_cannot_be_asked_for_without_the_model(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_screeners(config_in(tmp_path, tmp_path), "embedding"):
            pass

    with pytest.raises(ScreenerError) as caught:
        asyncio.run(story())

    assert caught.value.reason == "model-missing"


def test_a_file_that_is_not_the_model_is_never_loaded(tmp_path: Path) -> None:
    model_path(tmp_path).write_bytes(b"not a model")
    memory = ScreeningCache(None)
    screener = EmbeddingScreener(model_path(tmp_path), memory, bundled_data.reference_texts())

    with pytest.raises(ScreenerError) as caught:
        asyncio.run(screener.score([ScreenText(ref=1, title="x")], default_topics()))

    assert caught.value.reason == "model-damaged"


def test_without_the_extra_the_way_to_install_it_is_said(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "feedmill.adapters.screeners.embedding")

    async def story() -> tuple[str, ...]:
        async with open_screeners(config_in(tmp_path, models)) as opened:
            return opened.warnings

    assert "pip install 'feedmill[semantic]'" in asyncio.run(story())[0]
