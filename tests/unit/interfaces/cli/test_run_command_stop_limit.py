"""A shutdown that takes too long says so, and ends."""

import pytest
from msgspec.structs import replace
from tests.support.waiting import block_until

from feedmill.config import RunConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.cli import run_command
from feedmill.interfaces.cli.run_command import StopLimit

HASTY = replace(RunConfig(), drain_sec=-1.95)  # the grace is two seconds


def test_process_ends_with_1_when_stopping_takes_longer_than_allowed() -> None:
    ended: list[int] = []
    limit = StopLimit(HASTY, ended.append)

    limit.begin(Lifecycle("the test"))
    limit.begin(Lifecycle("the test"))
    block_until(lambda: bool(ended), "the end")

    assert ended == [1]


def test_process_ends_with_130_when_a_second_signal_hurries_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_command, "_GRACE_SEC", 0.05)  # two seconds for a disk, not for a test
    ended: list[int] = []
    limit = StopLimit(replace(RunConfig(), drain_sec=3_600.0), ended.append)

    limit.begin(Lifecycle("the test"))
    limit.hurry(Lifecycle("the test"))
    block_until(lambda: bool(ended), "the end")

    assert ended == [130]


def test_nothing_happens_when_the_role_has_ended() -> None:
    ended: list[int] = []
    limit = StopLimit(RunConfig(), ended.append)

    limit.begin(Lifecycle("the test"))
    limit.cancel()

    assert not any(alarm.is_alive() and not alarm.finished.is_set() for alarm in limit._alarms)
    assert ended == []
