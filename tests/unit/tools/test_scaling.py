"""Shapes of hostile input, and what counts as more than linear time."""

from random import Random  # noqa: TID251  # seeded

import pytest
from tools.scaling import is_superlinear, shapes


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param((), False, id="too quick to measure"),
        pytest.param((0.02, 0.04, 0.08), False, id="linear"),
        pytest.param((0.02, 0.08, 0.32), True, id="quadratic"),
        pytest.param((20.0,), True, id="over the limit"),
    ],
)
def test_growth_beyond_that_of_the_input_is_superlinear(
    times: tuple[float, ...], expected: bool
) -> None:
    assert is_superlinear(times) is expected


def test_every_shape_is_four_times_as_long_in_four_times_the_size() -> None:
    for words, shape in shapes(Random(1), 20):
        assert len(shape(40_000)) == pytest.approx(4 * len(shape(10_000)), rel=0.05), words
