"""Shapes of a simulation: what was recorded beside what another policy would have done."""
# Tested in tests/integration/engine/service/feeds/test_simulate.py

from collections.abc import Mapping
from datetime import datetime

from feedmill.model.base import Value
from feedmill.model.schedule import Setting


class PolicyFigures(Value):
    """What one policy asked for, and what it cost."""

    policy: str
    requests: int
    requests_per_day: float  # of a feed, on average
    median_delay_sec: float | None = None  # of an entry, from when it came out until it was found
    mean_delay_sec: float | None = None
    p90_delay_sec: float | None = None
    max_mean_delay_sec: float | None = None  # recorded: if every entry came out right after a poll
    missed: int | None = None  # entries that left the document unseen; None: nobody knows
    unchanged_share: float = 0.0  # of the requests that were answered 304


class SimulatedFeed(Value):
    """One feed of a simulation."""

    id: str
    title: str
    entries: int
    requests: int
    mean_delay_sec: float | None
    missed: int
    recorded_requests: int | None = None
    recorded_mean_delay_sec: float | None = None


class SimulationShape(Value):
    """A simulation: the recorded past, and the same time under a policy."""

    feeds: int
    entries: int
    since: datetime | None
    until: datetime | None
    settings: Mapping[str, Setting]  # of the policy, where they differ from the defaults
    policies: tuple[PolicyFigures, ...]  # recorded first, where there is a record
    items: tuple[SimulatedFeed, ...]
    decisions: int = 0  # that were recorded with their policy
    reproduced: int = 0  # of them, how many the same inputs lead to again


class Timeline(Value):
    """When one policy polled one feed, for a plot: Unix seconds."""

    policy: str
    polls: tuple[float, ...]
