"""Screens texts by topics: local methods score all of them, a language model only the unclear ones.

A method that fails is left out: the others go on, the result is marked as degraded, and the caller
is warned. Nothing here confirms or inserts anything (001).
`evaluate` measures the same methods on a labelled set.

Improves a topic by labelled entries: those that it is about become examples, the others counter-examples.

What is kept is measured by leaving one out: each labelled entry is scored by the topic that was made
without it. A change that does worse than the topic as it was is not kept.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.config import ScreenConfig
from feedmill.engine.ports.feeds import Screener
from feedmill.errors import FeedmillError, ScreenerError, UsageError
from feedmill.model.base import Value
from feedmill.model.screening import (
    Calibration,
    EvaluationEntry,
    Method,
    Score,
    Screening,
    ScreenText,
    Topic,
    TopicSet,
)
from feedmill.observe import log
from feedmill.screen.evaluate import Confusion, Quality, auc, confusions, f1_at, qualities
from feedmill.screen.fusion import fuse, topic_scores
from feedmill.screen.language import has_words, joined_text
from feedmill.screen.topics import with_digest

ScoresByText = dict[int, list[Score]]
_SENTENCE: Final = 300  # characters of an entry that become a sentence of the topic


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


class Labelled(NamedTuple):
    """An entry and whether it is about the topic."""

    text: ScreenText
    is_relevant: bool


class Improvement(Value):
    """The topic as it will be, and how well it ranks the labelled entries before and after."""

    topic: Topic
    f1_before: float
    f1_after: float
    auc_before: float
    auc_after: float
    is_changed: bool


async def entries_to_label(
    texts: Sequence[ScreenText],
    topics: TopicSet,
    screeners: Sequence[Screener],
    config: ScreenConfig,
    count: int,
) -> list[ScreenText]:
    """Entries whose labels tell most: the best ones and those nearest to the threshold, in turn."""
    said = await screen_texts(texts, topics, screeners, config)
    scores = {one.candidate_id: one.score for one in said}
    best = sorted(texts, key=lambda one: -scores[one.ref])
    unclear = sorted(texts, key=lambda one: abs(scores[one.ref] - config.keep_at))
    turns = [text for pair in zip(best, unclear, strict=True) for text in pair]
    return list({text.ref: text for text in turns}.values())[:count]


async def improve_topic(
    topics: TopicSet,
    topic_id: str,
    labelled: Sequence[Labelled],
    screeners: Sequence[Screener],
    config: ScreenConfig,
) -> Improvement:
    """The best of the topic as it is, with examples, and with counter-examples too."""

    async def measured(use: Sequence[bool]) -> tuple[float, float]:
        pairs = [
            (
                await _score(
                    _refitted(topics, topic_id, others, use), topic_id, one, screeners, config
                ),
                one.is_relevant,
            )
            for at, one in enumerate(labelled)
            for others in [[*labelled[:at], *labelled[at + 1 :]]]
        ]
        return f1_at(pairs, config.keep_at), auc(pairs)

    before = await measured(())
    trials = {use: await measured(use) for use in ((True,), (True, False))}
    use = max(trials, key=lambda one: (trials[one], len(one)))
    is_better = trials[use] >= before
    after = trials[use] if is_better else before
    best = _refitted(topics, topic_id, labelled, use if is_better else ())
    return Improvement(
        topic=next(one for one in best.topics if one.id == topic_id),
        f1_before=before[0],
        f1_after=after[0],
        auc_before=before[1],
        auc_after=after[1],
        is_changed=is_better,
    )


def _refitted(
    topics: TopicSet, topic_id: str, labelled: Sequence[Labelled], use: Sequence[bool]
) -> TopicSet:
    """The set with the labelled entries of these kinds as sentences of the topic."""

    def sentences(*, about: bool) -> tuple[str, ...]:
        if about not in use:
            return ()
        return tuple(
            f"{one.text.title}. {one.text.summary}"[:_SENTENCE].strip()
            for one in labelled
            if one.is_relevant == about
        )

    made = tuple(
        one
        if one.id != topic_id
        else replace(
            one,
            examples=tuple(dict.fromkeys((*one.examples, *sentences(about=True)))),
            not_examples=tuple(dict.fromkeys((*one.not_examples, *sentences(about=False)))),
        )
        for one in topics.topics
    )
    return with_digest(replace(topics, topics=made))


async def _score(
    topics: TopicSet,
    topic_id: str,
    one: Labelled,
    screeners: Sequence[Screener],
    config: ScreenConfig,
) -> float:
    (said,) = await screen_texts([one.text], topics, screeners, config)
    return said.score if said.topic in (topic_id, None) else 0.0
