"""Shapes of figures, hosts, service levels, simulations and the status of the whole engine (002 §4.9, §10)."""
# Tested in tests/unit/engine/service/test_figures_shapes.py

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from feedmill.model.base import Value
from feedmill.model.feed import HostState
from feedmill.model.page import ListPage
from feedmill.model.running.figures import (
    Fault,
    FeedCounts,
    Granularity,
    PayloadClass,
    StoreSizes,
    TopBy,
)
from feedmill.model.schedule import Setting

LevelName = Literal["fetch-latency", "failed-fetches", "scheduler-freshness"]


class FiguresShape(Value):
    """Figures of polls with the rates that follow from them; a rate of nothing is null."""

    polls: int
    fresh: int
    unchanged: int
    same_body: int
    failed: int
    failed_ours: int
    failed_theirs: int
    failed_host: int
    success_rate: float | None
    not_modified_rate: float | None
    bytes_in: int
    bytes_decoded: int
    bytes_saved: int
    compression_ratio: float | None
    entries_new: int
    entries_updated: int
    new_per_poll: float | None
    latency_ms: float | None
    latency_max_ms: int
    lag: float | None
    lag_max: float
    late: int
    retries: int
    interval_sec: float | None
    ewma_sec: float | None


class FiguresPoint(Value):
    """The figures of one hour or day."""

    start: datetime
    figures: FiguresShape


class FailureShape(Value):
    """How often polls failed in one way, and whose fault that is."""

    outcome: str
    status: int | None
    fault: Fault | None
    count: int
    host: str | None = None
    feeds: int | None = None


class OutcomeCount(Value):
    """How often polls ended in one way; `fault` is null when that is no failure."""

    outcome: str
    status: int | None
    fault: Fault | None
    count: int


class LatencyShape(Value):
    """Latency of answered polls by the size of the body."""

    payload: PayloadClass
    polls: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class FeedFigures(Value):
    """The figures of one feed over a range; spans without polls are left out."""

    feed_id: str
    granularity: Granularity
    since: datetime
    until: datetime
    total: FiguresShape
    points: tuple[FiguresPoint, ...]
    failures: tuple[FailureShape, ...]


class TotalFigures(Value):
    """The figures of all feeds over a range; spans without polls are left out."""

    granularity: Granularity
    since: datetime
    until: datetime
    total: FiguresShape
    points: tuple[FiguresPoint, ...]
    outcomes: tuple[OutcomeCount, ...]
    failures: tuple[FailureShape, ...]
    latency: tuple[LatencyShape, ...]
    new_entries: dict[str, int]  # polls by how many new entries they brought; "10" is 10 or more


class Stats(TotalFigures, kw_only=True):
    """The same, with how much there is and how far the log goes."""

    counts: dict[str, int]
    last_seq: int
    next_due_at: datetime | None


class RankShape(Value):
    """A feed in a top list; `value` is what the list is ordered by."""

    feed_id: str
    url: str
    title: str | None
    host: str
    value: float
    figures: FiguresShape


class TopFeeds(Value):
    """The feeds with the most of something, over whole days."""

    by: TopBy
    since: datetime
    until: datetime
    items: tuple[RankShape, ...]


class LevelShape(Value):
    """A service level: its target, what was measured, and the same in words.

    `value` is null, and the level met, when nothing was measured.
    """

    name: LevelName
    target: float
    value: float | None
    met: bool
    words: str
    payload: PayloadClass | None = None  # of a latency
    measured: int = 0  # polls or feeds that the value is made of
    missed: int = 0  # feeds that do not keep it


class ServiceLevels(Value):
    """The service levels of 002 §10 on one day, UTC."""

    day: datetime
    levels: tuple[LevelShape, ...]


class HostShape(Value):
    """A host: its state, since when, and what is held for it (D24)."""

    host: str
    state: HostState
    reason: str | None  # why it pauses or fails
    since: datetime | None  # when the trouble began
    until: datetime | None  # it is left alone until then
    failures: int  # in a row, all alike
    canary: str | None  # during an incident, the feed that tried it last
    feeds: int
    due: int  # of the feeds, how many should be polled now
    held: int  # of those, how many wait for the host
    limited_urls: int  # addresses with a Retry-After of their own
    gap_sec: float  # between two requests
    slow_down: float  # what the usual gap is multiplied by


class HostPage(ListPage[HostShape]):
    pass


class StatusShape(Value):
    """The whole engine on one screen."""

    at: datetime
    feeds: FeedCounts
    since: datetime  # of `recent`
    recent: FiguresShape
    failures: tuple[FailureShape, ...]  # of today, the most frequent first
    resting_hosts: tuple[HostShape, ...]  # those with the most feeds first
    sizes: StoreSizes
    levels: tuple[LevelShape, ...]
    advice: tuple[str, ...]  # what to do next


class PolicyFigures(Value):
    """What one policy asked for, and what it cost."""

    policy: str
    requests: int
    requests_per_day: float  # of a feed, on average
    median_delay_sec: float | None = None  # of an entry, from when it came out until it was found
    mean_delay_sec: float | None = None
    p90_delay_sec: float | None = None
    max_mean_delay_sec: float | None = None  # recorded: if every entry came out right after a poll
    missed: int | None = None  # entries that left the document unseen; None: unknown
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
