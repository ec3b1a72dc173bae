"""From standard deviations to a probability: one logistic function for each choice of methods.

The constants were fitted on the tuning part of the bundled evaluation set, with the middle moved
a little down: other people's texts share fewer words with our examples than our own do.
"""

from collections.abc import Collection, Mapping
from math import exp
from typing import Final

from feedmill.model.screening import Calibration, Method

LOCAL: Final[frozenset[Method]] = frozenset({"lexical", "embedding"})

LEXICAL: Final = Calibration(weights={"lexical": 2.6}, bias=-2.6 * 1.55)
EMBEDDING: Final = Calibration(weights={"embedding": 1.7}, bias=-1.7 * 2.45)
HYBRID: Final = Calibration(weights={"lexical": 1.55, "embedding": 1.55}, bias=-1.55 * 3.7)

_EDGE: Final = 30.0  # beyond this a probability is 0 or 1 for everybody


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
