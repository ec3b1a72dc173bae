"""Calibration: from a raw score to standard deviations (z-scores), and to a probability.

Raw scores of Chinese and English texts live on different scales, and a window of three items says
nothing about either. So the population is a bundled one, per script, and it is fixed. The
probability is one logistic function for each choice of methods, fitted on the tuning part of the
bundled evaluation set, with the middle moved a little down: other people's texts share fewer words
with our examples than our own do.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import exp, sqrt
from typing import Final

from feedmill.model.base import Value
from feedmill.model.screening import Calibration, Method
from feedmill.screen.texts import TextScript

Raws = Mapping[str, float]  # topic: raw score
Scales = Mapping[tuple[TextScript, str], "Scale"]


LOCAL: Final[frozenset[Method]] = frozenset({"lexical", "embedding"})

LEXICAL: Final = Calibration(weights={"lexical": 2.6}, bias=-2.6 * 1.55)
EMBEDDING: Final = Calibration(weights={"embedding": 1.7}, bias=-1.7 * 2.45)
HYBRID: Final = Calibration(weights={"lexical": 1.55, "embedding": 1.55}, bias=-1.55 * 3.7)

_EDGE: Final = 30.0  # beyond this a probability is 0 or 1 for everybody
_LEAST_SHARE: Final = 0.5  # of the spread over all topics: one that hits nothing has none itself
_LEAST: Final = 1e-6
PLACES: Final = 4  # of a score: below that, the order of additions is what one would read


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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(values: Iterable[float]) -> float:
    known = list(values)
    mean = _mean(known)
    return sqrt(sum((value - mean) ** 2 for value in known) / len(known))
