"""Embedding scores: how near a text's vector is to the vectors of example sentences.

The mean over the nearer half of the examples, less two thirds of the mean over the three nearest
sentences about something else. Averages beat the single nearest example; the margin over the
background is what keeps a journal's unrelated papers out.
"""
# Tested in tests/unit/screen/test_bm25_and_embedding_scores.py

from collections.abc import Sequence
from heapq import nlargest
from typing import Final

from feedmill.model.screening import Topic, TopicSet
from feedmill.screen.topics import MIN_EXAMPLES

_BACKGROUND_SHARE: Final = 0.65
_BACKGROUND_NEAREST: Final = 3


def example_sentences(topic: Topic) -> tuple[str, ...]:
    """What a topic is compared with: its examples, and where these are few its description."""
    if len(topic.examples) >= MIN_EXAMPLES:
        return topic.examples
    return (*topic.examples, topic.description or topic.name)


def background_sentences(topics: TopicSet) -> tuple[str, ...]:
    """What every topic is set off against: anything else, and what only sounds like a topic."""
    own = (sentence for topic in topics.topics for sentence in topic.not_examples)
    return (*topics.background, *own)


def background_similarity(background: Sequence[float]) -> float:
    """How near a text is to anything else, from its cosines to those sentences."""
    return _mean_of_best(background, _BACKGROUND_NEAREST)


def margin(examples: Sequence[float], ordinary: float) -> float:
    """The raw score of one text and topic, from its cosines to the examples."""
    near = _mean_of_best(examples, (len(examples) + 1) // 2)
    return near - _BACKGROUND_SHARE * ordinary


def _mean_of_best(values: Sequence[float], count: int) -> float:
    best = nlargest(count, values)
    return sum(best) / len(best) if best else 0.0
