"""How unusual a score is: standard deviations above texts about anything else, script by script.

Raw scores of Chinese and English texts live on different scales, and a window of three items
says nothing about either. So the population is a bundled one, and it is fixed.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Final

from feedmill.model.base import Value
from feedmill.screen.texts import TextScript

Raws = Mapping[str, float]  # topic: raw score
Scales = Mapping[tuple[TextScript, str], "Scale"]

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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(values: Iterable[float]) -> float:
    known = list(values)
    mean = _mean(known)
    return sqrt(sum((value - mean) ** 2 for value in known) / len(known))
