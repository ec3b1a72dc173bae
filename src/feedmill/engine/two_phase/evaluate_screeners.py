"""Evaluates screeners on a labelled set: precision, recall, F1 and AUC of each and of all together."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from feedmill.config import ScreenConfig
from feedmill.engine.ports.screener import Screener
from feedmill.errors import ScreenerError
from feedmill.model.base import Value
from feedmill.model.screening import EvaluationEntry, Method, Score, TopicSet
from feedmill.screen.evaluate import Confusion, Quality, confusions, qualities
from feedmill.screen.fusion import fuse, topic_scores


class Evaluation(Value):
    """What an evaluation found; `splits` are the same figures for each part of the set."""

    qualities: tuple[Quality, ...]
    splits: dict[str, tuple[Quality, ...]]
    confusions: tuple[Confusion, ...]  # of all methods together
    warnings: tuple[str, ...] = ()


async def evaluate(
    gold: Sequence[EvaluationEntry],
    topics: TopicSet,
    screeners: Sequence[Screener],
    config: ScreenConfig,
    *,
    warnings: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Precision, recall, F1 and AUC per topic and method; `keep` is what counts as found."""
    said: dict[Method, tuple[Score, ...]] = {}
    problems = list(warnings)
    texts = [one.text for one in gold]
    for screener in screeners:
        try:
            said[screener.name] = await screener.score(texts, topics)
        except ScreenerError as problem:
            problems.append(f"{screener.name} did not answer ({problem.reason}): {problem}")
        if progress is not None:
            progress(1)
    found = [
        quality
        for name, scores in _combinations(said)
        for quality in _qualities(gold, scores, topics, config, name)
    ]
    parts = sorted({one.split for one in gold if one.split})
    splits = {
        part: tuple(
            quality
            for name, scores in _combinations(said)
            for quality in _qualities(
                [one for one in gold if one.split == part], scores, topics, config, name
            )
        )
        for part in parts
    }
    together = _by_ref(gold, chain.from_iterable(said.values()))
    wrong = confusions(
        gold,
        (fuse(one.text, together[one.text.ref], topics, config) for one in gold),
        config.keep_at,
    )
    return Evaluation(
        qualities=tuple(found), splits=splits, confusions=wrong, warnings=tuple(problems)
    )


def _combinations(
    said: dict[Method, tuple[Score, ...]],
) -> Iterator[tuple[str, tuple[Score, ...]]]:
    yield from said.items()
    local = tuple(chain(said.get("lexical", ()), said.get("embedding", ())))
    if "lexical" in said and "embedding" in said:
        yield "hybrid", local
    if local and "llm" in said:
        yield "all", (*local, *said["llm"])


def _qualities(
    gold: Sequence[EvaluationEntry],
    scores: Sequence[Score],
    topics: TopicSet,
    config: ScreenConfig,
    name: str,
) -> tuple[Quality, ...]:
    by_ref = _by_ref(gold, scores)
    combined = {ref: topic_scores(own, topics) for ref, own in by_ref.items()}
    return qualities(gold, combined, topics, method=name, threshold=config.keep_at)


def _by_ref(
    gold: Sequence[EvaluationEntry], scores: Iterator[Score] | Sequence[Score]
) -> dict[int, list[Score]]:
    found: dict[int, list[Score]] = {one.text.ref: [] for one in gold}
    for score in scores:
        if score.ref in found:
            found[score.ref].append(score)
    return found
