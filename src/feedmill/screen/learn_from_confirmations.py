"""Learning from confirmations: twenty or more refit the function that weighs the local methods.

The bundled function stays the anchor: weights are pulled towards it, so that a few one-sided
confirmations bend the scores and do not break them.
"""

from collections.abc import Collection, Sequence
from math import sqrt
from typing import Final

from feedmill.model.screening import Calibration, Label, Method, Score, Screening
from feedmill.screen.calibration import LOCAL, calibration_for, probability

MIN_LABELS: Final = 20
_FEWEST_EACH: Final = 3  # of confirmed and of turned down ones
_PULL: Final = 2.0  # of the anchor, against the labels' own
_ROUNDS: Final = 400
_STEP: Final = 0.5


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
            / (size * _spread(labels, method))
            for method, weight in weights.items()
        }
        bias -= step * (sum(errors) + _PULL * (bias - anchor.bias)) / size
    # A method never speaks against itself: that would be an accident of few labels.
    kept = {method: max(weight, 0.0) for method, weight in weights.items()}
    return Calibration(weights=kept, bias=bias, labels=size)


def _spread(labels: Sequence[Label], method: Method) -> float:
    return max(1.0, sum(one.z[method] ** 2 for one in labels) / len(labels))


def _nearest(screening: Screening) -> str | None:
    if screening.topic is not None:
        return screening.topic
    local = [one for one in screening.scores if one.method in LOCAL]
    return max(local, key=lambda one: one.z).topic if local else None


def _local(scores: Sequence[Score], topic: str) -> tuple[Score, ...]:
    return tuple(one for one in scores if one.method in LOCAL and one.topic == topic)
