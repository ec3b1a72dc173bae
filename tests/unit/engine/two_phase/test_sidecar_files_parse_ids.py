"""A list of ids from a stranger: neither a bomb, nor read as other ids than it says."""

import tracemalloc

import pytest

from feedmill.engine.two_phase.sidecar_files import parse_ids
from feedmill.errors import CandidateError


def test_overlapping_ranges_are_not_a_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.engine.two_phase.sidecar_files._MOST_IDS", 20_000)
    bomb = "1-20000 " * 2_000
    tracemalloc.start()
    try:
        with pytest.raises(CandidateError) as refused:
            parse_ids(bomb)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refused.value.reason == "bad-selection"
    assert most < 5 * 1024 * 1024


@pytest.mark.parametrize("text", ["0000000000017", "1234567890123", "1-0000000000003"])
def test_an_id_that_is_too_long_is_refused_and_never_cut(text: str) -> None:
    with pytest.raises(CandidateError) as refused:
        parse_ids(text)

    assert refused.value.reason == "bad-selection"
