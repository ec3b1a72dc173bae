"""Store protocol: figures of polls, by feed and over all feeds."""
# Tested in tests/contracts/

from datetime import datetime
from typing import Protocol

from feedmill.model.running import figures


class FigureStore(Protocol):
    """Figures that were committed with the polls; spans without polls are left out."""

    async def feed_days(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FiguresAt, ...]: ...
    async def feed_hours(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FiguresAt, ...]: ...  # as far back as fetches are kept
    async def feed_failures(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FailureCount, ...]: ...  # of whole days
    async def host_failures(
        self, *, since: datetime, until: datetime, limit: int = 20
    ) -> tuple[figures.FailureCount, ...]: ...
    async def poll_totals(
        self, *, since: datetime, until: datetime
    ) -> tuple[figures.TotalsAt, ...]: ...  # by the hour; by the day where hours were compacted
    async def top_feeds(
        self, by: figures.TopBy, *, since: datetime, until: datetime, limit: int = 20
    ) -> tuple[figures.FeedRank, ...]: ...
    async def feed_counts(self, now: datetime) -> figures.FeedCounts: ...
    async def budget_counts(self, day: datetime, *, target: float) -> figures.BudgetCounts: ...
    async def freshness(
        self, day: datetime, *, now: datetime | None, initial_interval_sec: float
    ) -> figures.Freshness: ...  # None: only what was late on that day, not what is overdue
    async def store_sizes(self) -> figures.StoreSizes: ...
    async def compact_figures(
        self, *, now: datetime, hours_until: datetime, days_until: datetime
    ) -> int: ...
