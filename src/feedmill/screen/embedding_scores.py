"""Embedding scores: how near a text's vector is to the vectors of a topic's sentences.

A topic with many examples is the mean over the nearer half of them, less two thirds of the mean over the
three nearest sentences about something else, in standard deviations over ordinary texts. Averages beat
the single nearest example; the margin over the background keeps a journal's unrelated papers out.

A thin topic is its name and description, together and apart, blended with the examples that it has. It
is set off against the nearest of general subjects and ordinary texts, in what these do not share with it, on
a fixed scale: over a small population, the spread of a narrow topic is an accident.
"""
# Tested in tests/unit/screen/test_bm25_and_embedding_scores.py

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Final

from feedmill.model.screening import Topic
from feedmill.screen.calibration import Scale
from feedmill.screen.topics import MIN_EXAMPLES

# Found and not found meet at 0.04 (z 2.45), fitted on ten sets in other fields; between 0.03 and 0.05 their
# mean F1 moves by less than 0.01.
THIN: Final = Scale(mean=-0.105, deviation=0.0592)
_FITTED: Final = 0.076  # spread of the cosines of the encoder that was fitted with
BACKGROUND_SHARE: Final = 0.65
BACKGROUND_NEAREST: Final = 3
# a name is often a word of many senses; description and both have the rest
_NAME_SHARE: Final = 0.2
_BLEND: Final = 4  # examples that weigh as much as name and description
_AGAINST: Final = 0.5


def thin_scale(cosines: Sequence[float]) -> Scale:
    """The scale of thin topics for an encoder, from its cosines of ordinary texts to general subjects.

    Encoders differ in how wide their cosines lie; the constants were fitted with one of them.
    """
    if not cosines:
        return THIN
    mean = fsum(cosines) / len(cosines)
    wider = sqrt(fsum((one - mean) ** 2 for one in cosines) / len(cosines)) / _FITTED
    return Scale(mean=wider * THIN.mean, deviation=wider * THIN.deviation)


def description_sentences(topic: Topic) -> tuple[str, ...]:
    """What is known of a topic without examples: name and description, apart and together."""
    parts = tuple(part for part in (topic.name, topic.description) if part.strip())
    return (*parts, ". ".join(parts)) if len(parts) > 1 else parts or (topic.id,)


def example_sentences(topic: Topic) -> tuple[str, ...]:
    """What a topic is compared with: its examples, and where these are few its description."""
    if len(topic.examples) >= MIN_EXAMPLES:
        return topic.examples
    return (*topic.examples, topic.description or topic.name)


def thin_margin(
    described: Sequence[float], examples: Sequence[float], against: Sequence[float], ordinary: float
) -> float:
    """The raw score of a thin topic; a text that is nearer to a counter-example loses the difference."""
    near = _described(described)
    if examples:
        share = len(examples) / (len(examples) + _BLEND)
        near = (1 - share) * near + share * _nearer_half(examples)
    nearer = max(0.0, max(against, default=near) - near)
    return near - _AGAINST * nearer - BACKGROUND_SHARE * ordinary


def _described(cosines: Sequence[float]) -> float:
    """The mean over name, description and both; a name that is near where its description is not is another sense."""
    if len(cosines) < 3:
        return sum(cosines) / len(cosines)
    name, description, both = cosines
    return _NAME_SHARE * min(name, description) + (1 - _NAME_SHARE) * (description + both) / 2


def _nearer_half(cosines: Sequence[float]) -> float:
    best = sorted(cosines, reverse=True)[: (len(cosines) + 1) // 2]
    return sum(best) / len(best)
