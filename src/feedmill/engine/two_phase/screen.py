"""Screens texts by topics: local methods score all of them, a language model only the unclear ones.

A method that fails is left out: the others go on, the result is marked as degraded, and the caller
is warned. Nothing here confirms or inserts anything (001).
`evaluate` measures the same methods on a labelled set.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain

from feedmill.config import ScreenConfig
from feedmill.engine.ports.two_phase import Screener
from feedmill.errors import FeedmillError, ScreenerError, UsageError
from feedmill.model.base import Value
from feedmill.model.screening import (
    Calibration,
    EvaluationEntry,
    Method,
    Score,
    Screening,
    ScreenText,
    TopicSet,
)
from feedmill.observe import log
from feedmill.screen.evaluate import Confusion, Quality, confusions, qualities
from feedmill.screen.fusion import fuse, topic_scores
from feedmill.screen.texts import has_words, joined_text

ScoresByText = dict[int, list[Score]]


async def screen_texts(
    texts: Sequence[ScreenText],
    topic_set: TopicSet,
    screeners: Sequence[Screener],
    config: ScreenConfig,
    *,
    asked: Sequence[Method] = (),
    learnt: Calibration | None = None,
    progress: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> tuple[Screening, ...]:
    """One suggestion for each text, in their order.

    `asked` are the methods that were requested, whether there is a screener for them or not;
    `progress` is called with the number of texts done, `warn` with each problem.
    """
    report = warn or _log
    local = [one for one in screeners if one.name != "llm"]
    judges = [one for one in screeners if one.name == "llm"]
    missing = {method for method in asked if method not in {one.name for one in screeners}}
    first: dict[int, Screening] = {}
    unclear: dict[int, ScreenText] = {}
    scores: ScoresByText = {}  # of what is unclear; those of all would fill the memory
    for batch in _batches(texts, config.batch):
        said: ScoresByText = {text.ref: [] for text in batch}
        # Side by side: while an encoder works outside of the interpreter, words are scored.
        asked_now = tuple(local)
        answered = await asyncio.gather(
            *(_ask(screener, batch, topic_set, said, report) for screener in asked_now)
        )
        for screener, has_answered in zip(asked_now, answered, strict=True):
            if not has_answered:
                local.remove(screener)
                missing.add(screener.name)
        order = {screener.name: at for at, screener in enumerate(asked_now)}
        for text in batch:
            own = sorted(said[text.ref], key=lambda one: order[one.method])
            one = fuse(text, own, topic_set, config, learnt=learnt, missing=sorted(missing))
            first[text.ref] = one
            if judges and (_is_unclear(one) or is_audited(text, config.audit_ratio)):
                unclear[text.ref], scores[text.ref] = text, own
        if progress is not None:
            progress(len(batch))
    for judge in judges:
        await _ask(judge, tuple(unclear.values()), topic_set, scores, report)
    second = {
        ref: _again(text, first[ref], scores[ref], topic_set, config, learnt, missing)
        for ref, text in unclear.items()
    }
    first |= second
    return tuple(first[text.ref] for text in texts)


def is_audited(text: ScreenText, ratio: float) -> bool:
    """Whether a clear case is looked at all the same: the same ones in every run."""
    draw = int.from_bytes(sha256(joined_text(text).encode()).digest()[:4], "big")
    return draw < ratio * 2**32


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
    texts = [one.text for one in gold if has_words(one.text)]
    for screener in screeners:
        try:
            said[screener.name] = await screener.score(texts, topics)
        except ScreenerError as problem:
            problems.append(f"{screener.name} did not answer ({problem.reason}): {problem}")
        if progress is not None:
            progress(1)
    names = sorted({one.split for one in gold if one.split})
    parts = {"": gold} | {name: [one for one in gold if one.split == name] for name in names}
    found: dict[str, tuple[Quality, ...]] = dict.fromkeys(parts, ())
    for method, scores in _combinations(said):
        by_ref = _by_ref(gold, scores)
        combined = {ref: topic_scores(own, topics) for ref, own in by_ref.items()}
        screened = {
            one.text.ref: fuse(one.text, by_ref[one.text.ref], topics, config) for one in gold
        }
        for part, some in parts.items():
            found[part] += qualities(
                some,
                combined,
                topics,
                method=method,
                threshold=config.keep_at,
                screenings=[screened[one.text.ref] for one in some],
            )
    together = _by_ref(gold, chain.from_iterable(said.values()))
    wrong = confusions(
        gold,
        (fuse(one.text, together[one.text.ref], topics, config) for one in gold),
        config.keep_at,
    )
    return Evaluation(
        qualities=found.pop(""), splits=found, confusions=wrong, warnings=tuple(problems)
    )


def _is_unclear(screening: Screening) -> bool:
    """What the language model may decide: nothing can lift a suspicious text above unsure."""
    return screening.suggestion == "unsure" and not screening.is_suspicious


def _again(
    text: ScreenText,
    first: Screening,
    scores: Sequence[Score],
    topic_set: TopicSet,
    config: ScreenConfig,
    learnt: Calibration | None,
    missing: set[Method],
) -> Screening:
    if any(one.method == "llm" for one in scores):
        return fuse(text, scores, topic_set, config, learnt=learnt, missing=sorted(missing))
    if first.suggestion != "unsure":
        return first  # only an audit, and the methods that answered were sure
    without: list[Method] = sorted({*missing, "llm"})
    return fuse(text, scores, topic_set, config, learnt=learnt, missing=without)


async def _ask(
    screener: Screener,
    texts: Sequence[ScreenText],
    topic_set: TopicSet,
    scores: ScoresByText,
    report: Callable[[str], None],
) -> bool:
    """Gather what one method says; False when it failed as a whole."""
    try:
        found = await screener.score([text for text in texts if has_words(text)], topic_set)
    except UsageError:
        raise
    except FeedmillError as problem:
        words = f"{screener.name} did not answer ({problem.reason}): {problem}"
        report(f"{words}; {problem.hint}" if problem.hint else words)
        return False
    for one in found:
        scores[one.ref].append(one)
    if screener.failure:
        rated = len({one.ref for one in found})
        report(f"{screener.name} rated {rated} of {len(texts)} texts: {screener.failure}")
    return True


def _batches(texts: Sequence[ScreenText], size: int) -> Iterator[Sequence[ScreenText]]:
    for start in range(0, len(texts), max(1, size)):
        yield texts[start : start + max(1, size)]


def _log(words: str) -> None:
    log.logger("screen").warning("screening is degraded", problem=words)


def _combinations(
    said: dict[Method, tuple[Score, ...]],
) -> Iterator[tuple[str, tuple[Score, ...]]]:
    yield from said.items()
    local = tuple(chain(said.get("lexical", ()), said.get("embedding", ())))
    if "lexical" in said and "embedding" in said:
        yield "hybrid", local
    if local and "llm" in said:
        yield "all", (*local, *said["llm"])


def _by_ref(
    gold: Sequence[EvaluationEntry], scores: Iterator[Score] | Sequence[Score]
) -> dict[int, list[Score]]:
    found: dict[int, list[Score]] = {one.text.ref: [] for one in gold}
    for score in scores:
        if score.ref in found:
            found[score.ref].append(score)
    return found
