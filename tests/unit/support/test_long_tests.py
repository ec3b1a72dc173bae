"""The order in which several test processes get the tests."""

import pytest
from tests.support.long_tests import long_first

LONG = [f"long{file}::{test}" for file in range(5) for test in "ab"]
SHORT = [f"short{file}::{test}" for file in range(10) for test in "abcd"]


def _is_long(test: str) -> bool:
    return test.startswith("long")


def _file(test: str) -> str:
    return test.partition("::")[0]


def _parts(tests: list[str], processes: int) -> list[list[str]]:
    """What `--dist worksteal` gives each process at first."""
    left, parts = list(tests), []
    for number in range(processes):
        size = len(left) // (processes - number)
        parts.append(left[:size])
        del left[:size]
    return parts


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5])
def test_every_process_begins_with_its_share_of_the_long_tests(processes: int) -> None:
    ordered = long_first([*SHORT, *LONG], _is_long, _file, processes)

    parts = _parts(ordered, processes)
    long_in_each = [[test for test in part if _is_long(test)] for part in parts]

    assert sorted(ordered) == sorted([*SHORT, *LONG])
    assert all(part[: len(share)] == share for part, share in zip(parts, long_in_each, strict=True))
    assert max(map(len, long_in_each)) - min(map(len, long_in_each)) <= 2  # the tests of one file


def test_tests_of_a_file_stay_together_and_in_their_order() -> None:
    ordered = long_first([*SHORT, *LONG], _is_long, _file, 4)

    assert [test for test in ordered if not _is_long(test)] == SHORT
    assert all(ordered.index(f"long{n}::b") == ordered.index(f"long{n}::a") + 1 for n in range(5))


@pytest.mark.parametrize("processes", [1, 4, 40])
@pytest.mark.parametrize("tests", [[], LONG, LONG[:3], SHORT[:2]], ids=len)
def test_no_test_is_lost_where_there_are_few_or_only_long_ones(
    tests: list[str], processes: int
) -> None:
    assert sorted(long_first(tests, _is_long, _file, processes)) == sorted(tests)
