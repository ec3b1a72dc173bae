"""The places at which tests let a process die."""

import errno

import pytest

from feedmill.adapters.failpoints import POINTS, Failpoint, make_failpoint, reach


def test_without_the_variable_nothing_happens_anywhere() -> None:
    passing = make_failpoint({})

    for point in POINTS:
        passing(point)
        reach(point)


def test_a_failpoint_acts_at_the_chosen_passages_only() -> None:
    failpoint = Failpoint("blob-write=eio@2-3")
    failed = []

    for passage in range(1, 6):
        failpoint("store-commit")
        try:
            failpoint("blob-write")
        except OSError as problem:
            failed.append((passage, problem.errno))

    assert failed == [(2, errno.EIO), (3, errno.EIO)]


def test_a_disk_without_space_can_be_asked_for() -> None:
    with pytest.raises(OSError, match="No space"):
        Failpoint("tap-append=enospc")("tap-append")


@pytest.mark.parametrize("spelling", ["nowhere", "blob-write=sing", "blob-write@", "@3"])
def test_a_failpoint_that_does_not_exist_ends_the_program_with_a_list(spelling: str) -> None:
    with pytest.raises(SystemExit, match="blob-write"):
        make_failpoint({"FEEDMILL_FAILPOINT": spelling})
