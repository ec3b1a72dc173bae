"""Gauges that are read from the store: lengths of the queues every 5 s, counts of rows every minute."""
# Tested in tests/integration/engine/service/test_same_story.py

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.events import EventLog, WebhookStore
from feedmill.engine.ports.feeds import HostStore, ScheduleStore
from feedmill.engine.ports.maintenance import FigureStore, JobStore, MaintenanceStore
from feedmill.engine.ports.media import MediaStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.model.page import HostFilter
from feedmill.model.running.figures import FeedCounts
from feedmill.observe.metrics import Metrics

_QUEUES_EVERY_SEC: Final = 5.0
_COUNTS_EVERY_SEC: Final = 60.0
_MOST_HOSTS: Final = 1_000
_TITLE_CHARS: Final = 80
_STATES: Final = FeedCounts.__struct_fields__
_KINDS: Final = (
    "feeds", "paused", "entries", "articles", "blobs", "media", "fulltexts", "clusters",
)  # fmt: skip
_FIGURES: Final = (
    "entries_new", "polls", "bytes_in", "bytes_saved", "failed", "interval_sec", "ewma_sec",
)  # fmt: skip


class GaugedStore(
    ScheduleStore,
    HostStore,
    EventLog,
    WebhookStore,
    FigureStore,
    MaintenanceStore,
    JobStore,
    MediaStore,
    Protocol,
):
    """What is counted."""


async def run_gauges(
    store: GaugedStore,
    clock: Clock,
    metrics: Metrics,
    lifecycle: Lifecycle,
    *,
    consumers: Sequence[str] = (),
) -> None:
    """Update the lengths of the queues until the run ends; `consumers` are cursors of the log."""

    async def update() -> None:
        metrics.lanes.set(lifecycle.lanes)
        metrics.due_lanes.set(await store.due_lanes(clock.now()))
        last_seq = await store.last_seq()
        metrics.last_seq.set(last_seq)
        for consumer in consumers:
            metrics.relay_lag.labels(consumer).set(last_seq - await store.cursor(consumer))
        cursors = [one.cursor for one in await store.webhooks() if one.state == "active"]
        metrics.relay_lag.labels("webhooks").set(last_seq - min(cursors, default=last_seq))

    await _repeat(update, _QUEUES_EVERY_SEC, lifecycle)


async def run_counters(
    store: GaugedStore,
    clock: Clock,
    metrics: Metrics,
    lifecycle: Lifecycle,
    *,
    top_feeds: int = 0,
) -> None:
    """Update what the store knows until the run ends: facts of the store, not of this process."""

    async def update() -> None:
        counts = await store.counts()
        for name in _KINDS:
            metrics.stored.labels(name).set(counts[name])
        usage = await store.media_usage()
        metrics.media_bytes.labels("kept").set(usage.size_bytes)
        metrics.media_bytes.labels("reserved").set(usage.reserved_bytes)
        metrics.last_seq.set(await store.last_seq())
        metrics.jobs.clear()  # a kind without jobs has no line
        for count in await store.job_counts():
            metrics.jobs.labels(count.kind, count.state).set(count.jobs)
        await _count_feeds(store, clock, metrics)
        if top_feeds:
            await _rank_feeds(store, clock, metrics, top_feeds)

    await _repeat(update, _COUNTS_EVERY_SEC, lifecycle)


async def _count_feeds(store: GaugedStore, clock: Clock, metrics: Metrics) -> None:
    """Feeds by state, and hosts that rest by reason."""
    now = clock.now()
    counts = await store.feed_counts(now)
    for state in _STATES:
        metrics.feeds.labels(state).set(getattr(counts, state))
    resting = await store.host_lanes(HostFilter(resting=True), now=now, limit=_MOST_HOSTS)
    reasons = Counter(lane.pace.blocked_reason or "" for lane in resting.items)
    metrics.resting_hosts.clear()
    for reason, number in reasons.items():
        metrics.resting_hosts.labels(reason).set(number)


async def _rank_feeds(store: FigureStore, clock: Clock, metrics: Metrics, most: int) -> None:
    """Series of the feeds with the most new entries today, and of the hosts with the most failures."""
    now = clock.now()
    feeds = await store.top_feeds("new", since=now, until=now, limit=most)
    failures = await store.host_failures(since=now, until=now, limit=most)
    metrics.feed_figures.clear()
    for feed in feeds:
        for figure in _FIGURES:
            value = getattr(feed.figures, figure)
            if value is not None:
                title = (feed.title or feed.url)[:_TITLE_CHARS]
                metrics.feed_figures.labels(feed.feed_id, title, figure).set(value)
    metrics.host_failures.clear()
    for one in failures:
        status = str(one.status or "none")
        metrics.host_failures.labels(one.host or "", one.outcome, status).set(one.count)


async def _repeat(
    update: Callable[[], Awaitable[None]], every_sec: float, lifecycle: Lifecycle
) -> None:
    while not lifecycle.is_stopping():
        with suppress(FeedmillError):  # the scheduler meets the same error and reports it
            await update()
        await lifecycle.sleep_unless_stopping(every_sec)
