"""Embedding scores: how near a text's vector is to the vectors of a topic's sentences.

A topic with many examples is the mean over the nearer half of them, less two thirds of the mean over the
three nearest sentences about something else, in standard deviations over ordinary texts. Averages beat
the single nearest example; the margin over the background keeps a journal's unrelated papers out.

A thin topic is its name and description, together and apart, blended with the examples that it has. It
is set off against general subjects of all fields, on a fixed scale: over a small population, the
spread of a narrow topic is an accident.
"""
# Tested in tests/unit/screen/test_bm25_and_embedding_scores.py

from collections.abc import Sequence
from heapq import nlargest
from math import fsum, sqrt
from typing import Final

from feedmill.model.screening import Topic
from feedmill.screen.calibration import Scale
from feedmill.screen.topics import MIN_EXAMPLES

# 0.07 is the middle between found and not: fitted on all eight sets in other fields, after 0.125, which
# was fitted on four of them, had found too little in the other four.
THIN: Final = Scale(mean=-0.1015, deviation=0.07)
_FITTED: Final = Scale(mean=0.0458, deviation=0.0712)  # cosines of the encoder that was fitted with
_BACKGROUND_SHARE: Final = 0.65
_BACKGROUND_NEAREST: Final = 3
_SUBJECTS_NEAREST: Final = 5
_BLEND: Final = 4  # examples that weigh as much as name and description
_AGAINST: Final = 0.5


def thin_scale(cosines: Sequence[float]) -> Scale:
    """The scale of thin topics for an encoder, from its cosines of ordinary texts to general subjects.

    Encoders differ in how high and how wide their cosines lie; the constants were fitted with one of them.
    """
    if not cosines:
        return THIN
    mean = fsum(cosines) / len(cosines)
    spread = sqrt(fsum((one - mean) ** 2 for one in cosines) / len(cosines))
    wider = spread / _FITTED.deviation
    higher = mean - wider * _FITTED.mean
    return Scale(
        mean=(1 - _BACKGROUND_SHARE) * higher + wider * THIN.mean, deviation=wider * THIN.deviation
    )


def description_sentences(topic: Topic) -> tuple[str, ...]:
    """What is known of a topic without examples: name and description, apart and together."""
    parts = tuple(part for part in (topic.name, topic.description) if part.strip())
    return (*parts, ". ".join(parts)) if len(parts) > 1 else parts or (topic.id,)


def example_sentences(topic: Topic) -> tuple[str, ...]:
    """What a topic is compared with: its examples, and where these are few its description."""
    if len(topic.examples) >= MIN_EXAMPLES:
        return topic.examples
    return (*topic.examples, topic.description or topic.name)


def background_similarity(background: Sequence[float]) -> float:
    """How near a text is to anything else, from its cosines to those sentences."""
    return _mean_of_best(background, _BACKGROUND_NEAREST)


def subject_similarity(subjects: Sequence[float]) -> float:
    """How near a text is to general subjects, from its cosines to them and to the background."""
    return _mean_of_best(subjects, _SUBJECTS_NEAREST)


def margin(examples: Sequence[float], ordinary: float) -> float:
    """The raw score of one text and topic, from its cosines to the examples."""
    return _nearer_half(examples) - _BACKGROUND_SHARE * ordinary


def thin_margin(
    described: Sequence[float], examples: Sequence[float], against: Sequence[float], ordinary: float
) -> float:
    """The raw score of a thin topic; a text that is nearer to a counter-example loses the difference."""
    near = sum(described) / len(described)
    if examples:
        share = len(examples) / (len(examples) + _BLEND)
        near = (1 - share) * near + share * _nearer_half(examples)
    nearer = max(0.0, max(against, default=near) - near)
    return near - _AGAINST * nearer - _BACKGROUND_SHARE * ordinary


def _nearer_half(cosines: Sequence[float]) -> float:
    return _mean_of_best(cosines, (len(cosines) + 1) // 2)


def _mean_of_best(values: Sequence[float], count: int) -> float:
    best = nlargest(count, values)
    return sum(best) / len(best) if best else 0.0
