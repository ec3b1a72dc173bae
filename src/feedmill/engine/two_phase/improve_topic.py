"""Improves a topic by labelled entries: those that it is about become examples, the others counter-examples.

What is kept is measured by leaving one out: each labelled entry is scored by the topic that was made
without it. A change that does worse than the topic as it was is not kept.
"""
# Tested in tests/integration/interfaces/cli/commands/two_phase/test_topics.py

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.config import ScreenConfig
from feedmill.engine.ports.two_phase import Screener
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.model.base import Value
from feedmill.model.screening import ScreenText, Topic, TopicSet
from feedmill.screen.evaluate import auc, f1_at
from feedmill.screen.topics import with_digest

_SENTENCE: Final = 300  # characters of an entry that become a sentence of the topic


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
