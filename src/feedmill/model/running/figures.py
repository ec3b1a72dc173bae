"""Figures of polls: counts, bytes, latency and lag of one feed or of all feeds in a span of time (002 §4.9).

A poll has one fault class when it failed, so that an error budget counts our own failures only.
"""
# Tested in tests/unit/fetch/test_figures.py

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

Fault = Literal[
    "ours",  # our settings, limits or request
    "theirs",  # the publisher: what is served at this address
    "host",  # the server or the way to it
]
Granularity = Literal["hour", "day"]
PayloadClass = Literal[
    "none",  # an answer without a body, a 304 as a rule
    "100kB",  # up to 100,000 bytes, decoded
    "1MB",  # up to 1,000,000 bytes
    "larger",
]
TopBy = Literal["new", "bytes", "errors", "ours", "latency", "lag", "polls", "saved"]


class Figures(Value):
    """Counts over the polls of one feed, or of all feeds, in one span of time."""

    polls: int = 0
    unchanged: int = 0  # 304
    same_body: int = 0  # a 200 with the body before
    failed_ours: int = 0
    failed_theirs: int = 0
    failed_host: int = 0
    bytes_in: int = 0  # bodies as transferred
    bytes_decoded: int = 0
    bytes_saved: int = 0  # bodies that a 304 made unnecessary
    entries_new: int = 0
    entries_updated: int = 0
    elapsed_ms: int = 0  # of all polls together
    elapsed_ms_max: int = 0
    lag: float = 0.0  # of all polls together: (fetched - scheduled) / interval
    lag_max: float = 0.0
    late: int = 0  # polls with a lag above 1: later than twice the interval
    retries: int = 0  # connection attempts after the first
    interval_sec: float | None = None  # the last one chosen
    ewma_sec: float | None = None  # the last estimate of the gap between entries

    @property
    def failed(self) -> int:
        """Polls that brought nothing usable."""
        return self.failed_ours + self.failed_theirs + self.failed_host

    @property
    def fresh(self) -> int:
        """Polls that brought a document with another body than before."""
        return self.polls - self.failed - self.unchanged - self.same_body


class FiguresAt(Value):
    """The figures of the span that starts at an instant."""

    start: datetime
    figures: Figures


class FailureCount(Value):
    """How often polls failed in one way; `status` is None where no answer came."""

    outcome: str
    status: int | None
    count: int
    host: str | None = None
    feeds: int | None = None  # that failed so


class Totals(Value):
    """The figures of all feeds in one span, with what is only counted over all of them."""

    figures: Figures = Figures()
    outcomes: Mapping[str, int] = {}  # "fresh 200", "timeout -": outcome and status
    latency: Mapping[PayloadClass, Mapping[int, int]] = {}  # bucket: polls that were answered
    # polls by how many new entries they brought; 10 is 10 or more
    new_entries: Mapping[int, int] = {}


class TotalsAt(Value):
    """The totals of the span that starts at an instant."""

    start: datetime
    totals: Totals


class FeedRank(Value):
    """A feed in a list of those with the most of something."""

    feed_id: str
    url: str
    title: str | None
    host: str
    figures: Figures
    value: float  # what the list is ordered by


class FeedCounts(Value):
    """Feeds by health, and how many are due or late now."""

    feeds: int = 0
    paused: int = 0
    active: int = 0
    backing_off: int = 0
    suspect: int = 0
    gone: int = 0
    never_polled: int = 0
    due: int = 0
    late: int = 0  # due since more than one interval
    held: int = 0  # due, but their host has to be left alone
    circuit_open: int = 0  # of every health: they spent their error budget and are polled rarely


class BudgetCounts(Value):
    """Polls and feeds of one day, as far as failures of our own go."""

    feeds: int = 0  # that were polled
    over_budget: int = 0  # of them: too many of their polls failed through our fault
    polls: int = 0  # without those that failed through the publisher or the host
    failed_ours: int = 0


class Freshness(Value):
    """Feeds that are polled on time."""

    feeds: int = 0  # not paused
    late: int = 0  # a poll of the day came later than twice the interval, or one is overdue


class StoreSizes(Value):
    """Bytes on disk: the database, and raw documents as they are stored."""

    database_bytes: int = 0
    raw_bytes: int = 0
    raw_documents: int = 0
