"""The list of all kinds of jobs."""

from feedmill.config import Config
from feedmill.engine.jobs.runner import KINDS


def test_names_of_kinds_are_unique_and_their_limits_can_be_read() -> None:
    names = [kind.name for kind in KINDS]

    assert len(names) == len(set(names))
    for kind in KINDS:
        assert kind.concurrency >= 1
        assert kind.limits(Config())
