"""The order of the tests of several processes: each begins with its share of the long ones.

`pytest -n 4 --dist worksteal` gives each process a quarter of the list, and who is ready takes the second half of what
another has left. With all long tests at the head of the list, one process would have them all.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby
from typing import TypeVar

T = TypeVar("T")


def long_first(
    tests: Sequence[T], is_long: Callable[[T], bool], file: Callable[[T], str], processes: int
) -> list[T]:
    """The tests, otherwise in their order, so that every part of the list begins with long ones.

    Tests of a file stay together, because they may share what a fixture made for the file.
    """
    files = [list(group) for _, group in groupby(filter(is_long, tests), file)]
    short = [test for test in tests if not is_long(test)]
    ordered: list[T] = []
    for number in range(processes):
        left = len(tests) - len(ordered)
        share = _flat(files[number::processes])
        room = max(0, left // (processes - number) - len(share))
        ordered += share + short[:room]
        del short[:room]
    return ordered + short


def _flat(parts: Iterable[Iterable[T]]) -> list[T]:
    return list(chain.from_iterable(parts))
