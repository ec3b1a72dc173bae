"""The measure of full texts: runs of four words, each page counting the same."""

import pytest
from tools.fulltext_quality import precision_and_recall

TRUE = "one two three four five six seven eight"


@pytest.mark.parametrize(
    ("found", "precision", "recall"),
    [
        pytest.param(TRUE, 1.0, 1.0, id="all of it"),
        pytest.param("one two three four", 1.0, 0.2, id="the beginning"),
        pytest.param("", 0.0, 0.0, id="nothing"),
        pytest.param(f"{TRUE} nine ten eleven twelve thirteen", 0.5, 1.0, id="too much"),
    ],
)
def test_precision_and_recall(found: str, precision: float, recall: float) -> None:
    assert precision_and_recall([(TRUE, found)]) == pytest.approx((precision, recall))
