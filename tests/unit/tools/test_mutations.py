"""Each mutation of `make mutations` still has its place in the source, and tests that could notice it."""

from pathlib import Path

import pytest
from tools.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.promise)
def test_place_of_the_mutation_is_found_once(mutation: Mutation) -> None:
    text = (ROOT / "src" / "feedmill" / mutation.file).read_text("utf-8")

    assert text.count(mutation.old) == 1
    assert mutation.new not in text or mutation.new in mutation.old
    assert (ROOT / mutation.tests.split()[0]).exists()
