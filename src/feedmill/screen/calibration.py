"""Calibration: from a raw score to standard deviations (z-scores), and to a probability.

Raw scores of Chinese and English texts live on different scales, and a window of three items says
nothing about either. So the population is a bundled one, per script, and it is fixed. The
probability is one logistic function for each choice of methods, fitted on the tuning part of the
bundled evaluation set, with the middle moved a little down: other people's texts share fewer words
with our examples than our own do.

Twenty or more confirmations refit that function. The bundled one stays the anchor: weights are pulled
towards it, so that a few one-sided confirmations bend the scores and do not break them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import exp, sqrt
from typing import Final

from feedmill.model.base import Value
from feedmill.model.screening import Calibration, Label, Method, Score, Screening
from feedmill.screen.language import TextScript

Raws = Mapping[str, float]  # topic: raw score

LOCAL: Final[frozenset[Method]] = frozenset({"lexical", "embedding"})
LEXICAL: Final = Calibration(weights={"lexical": 2.6}, bias=-2.6 * 1.55)
EMBEDDING: Final = Calibration(weights={"embedding": 1.7}, bias=-1.7 * 2.45)
HYBRID: Final = Calibration(weights={"lexical": 1.55, "embedding": 1.55}, bias=-1.55 * 4.0)
# Of a name and a line: shared words are a hint, and their absence says nothing.
THIN: Final = Calibration(weights={"lexical": 0.1, "embedding": 1.7}, bias=-1.7 * 2.45)
_EDGE: Final = 30.0  # beyond this a probability is 0 or 1 for everybody
_LEAST_SHARE: Final = 0.5  # of the spread over all topics: one that hits nothing has none itself
_LEAST: Final = 1e-6

MIN_LABELS: Final = 20
_FEWEST_EACH: Final = 3  # of confirmed and of turned down ones
_PULL: Final = 2.0  # of the anchor, against the labels' own
_ROUNDS: Final = 400
_STEP: Final = 0.5


class Scale(Value):
    """Mean and spread of one topic's scores over one script's texts."""

    mean: float
    deviation: float


def scales_of(population: Sequence[tuple[TextScript, Raws]]) -> dict[tuple[TextScript, str], Scale]:
    """The scale of every topic in every script that the population has."""
    found: dict[tuple[TextScript, str], Scale] = {}
    for script in sorted({script for script, _ in population}):
        rows = [raws for own, raws in population if own == script]
        spread = _spread([raw for row in rows for raw in row.values()])
        for topic in rows[0]:
            column = [row[topic] for row in rows]
            deviation = max(_spread(column), spread * _LEAST_SHARE, _LEAST)
            found[script, topic] = Scale(mean=_mean(column), deviation=deviation)
    return found


def z_score(raw: float, scale: Scale) -> float:
    """Standard deviations above the mean."""
    return (raw - scale.mean) / scale.deviation


def combined_probability(
    z: Mapping[Method, float], calibration: Calibration, known: float
) -> float:
    """The probability for a topic of which that share is known; a thin one has a function of its own."""
    if known >= 1 or set(calibration.weights) != set(THIN.weights):
        return probability(z, calibration)
    return known * probability(z, calibration) + (1 - known) * probability(z, THIN)


def probability(z: Mapping[Method, float], calibration: Calibration) -> float:
    """From 0 to 1; 0.5 is where relevant and other texts are equally likely."""
    total = calibration.bias + sum(
        weight * z.get(method, 0.0) for method, weight in calibration.weights.items()
    )
    return 1 / (1 + exp(-max(-_EDGE, min(_EDGE, total))))


def calibration_for(methods: Collection[Method], learnt: Calibration | None) -> Calibration | None:
    """The function for the local methods that answered, learnt or bundled; None: none did."""
    answered = LOCAL & set(methods)
    if learnt is not None and set(learnt.weights) == answered:
        return learnt
    known = (HYBRID, EMBEDDING, LEXICAL)
    return next((one for one in known if set(one.weights) == answered), None)


def labels_of(
    screenings: Sequence[Screening], confirmed: Collection[int], shown: Collection[int]
) -> tuple[Label, ...]:
    """What a review says: the confirmed are relevant, the rest of those that were shown is not."""
    return tuple(
        Label(
            topic_set=screening.topic_set,
            topic=topic,
            z={one.method: one.z for one in _local(screening.scores, topic)},
            is_relevant=screening.candidate_id in confirmed,
        )
        for screening in screenings
        if screening.candidate_id in shown and (topic := _nearest(screening)) is not None
    )


def learn(
    labels: Sequence[Label], methods: Collection[Method], topic_set: str
) -> Calibration | None:
    """A function fitted to the labels of these methods and topics; None while there are too few."""
    anchor = calibration_for(methods, None)
    wanted = LOCAL & set(methods)
    own = [one for one in labels if one.topic_set == topic_set and set(one.z) == wanted]
    relevant = sum(one.is_relevant for one in own)
    enough = len(own) >= MIN_LABELS and min(relevant, len(own) - relevant) >= _FEWEST_EACH
    if anchor is None or not enough:
        return None
    return _fit(own, anchor)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(values: Iterable[float]) -> float:
    known = list(values)
    mean = _mean(known)
    return sqrt(sum((value - mean) ** 2 for value in known) / len(known))


def _fit(labels: Sequence[Label], anchor: Calibration) -> Calibration:
    """Plain gradient descent on the penalised log loss: a handful of numbers, a few hundred steps."""
    weights, bias = dict(anchor.weights), anchor.bias
    size = len(labels)
    for turn in range(_ROUNDS):
        now = Calibration(weights=weights, bias=bias)
        errors = [probability(one.z, now) - one.is_relevant for one in labels]
        step = _STEP / sqrt(1 + turn / 50)
        weights = {
            method: weight
            - step
            * (
                sum(error * one.z[method] for error, one in zip(errors, labels, strict=True))
                + _PULL * (weight - anchor.weights[method])
            )
            / (size * _spread_of_labels(labels, method))
            for method, weight in weights.items()
        }
        bias -= step * (sum(errors) + _PULL * (bias - anchor.bias)) / size
    # A method never speaks against itself: that would be an accident of few labels.
    kept = {method: max(weight, 0.0) for method, weight in weights.items()}
    return Calibration(weights=kept, bias=bias, labels=size)


def _spread_of_labels(labels: Sequence[Label], method: Method) -> float:
    return max(1.0, sum(one.z[method] ** 2 for one in labels) / len(labels))


def _nearest(screening: Screening) -> str | None:
    if screening.topic is not None:
        return screening.topic
    local = [one for one in screening.scores if one.method in LOCAL]
    return max(local, key=lambda one: one.z).topic if local else None


def _local(scores: Sequence[Score], topic: str) -> tuple[Score, ...]:
    return tuple(one for one in scores if one.method in LOCAL and one.topic == topic)
