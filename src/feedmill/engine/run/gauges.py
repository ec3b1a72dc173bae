"""Gauges that are read from the store: lengths of the queues every 5 s, counts of rows every minute."""
# Tested in tests/unit/engine/run/

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.events import EventLog, WebhookStore
from feedmill.engine.ports.jobs import JobStore
from feedmill.engine.ports.maintenance import MaintenanceStore
from feedmill.engine.ports.schedule import ScheduleStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.observe.metrics import Metrics

_QUEUES_EVERY_SEC: Final = 5.0
_COUNTS_EVERY_SEC: Final = 60.0


class GaugedStore(ScheduleStore, EventLog, WebhookStore, MaintenanceStore, JobStore, Protocol):
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


async def run_counters(store: GaugedStore, metrics: Metrics, lifecycle: Lifecycle) -> None:
    """Update the counts of rows until the run ends: facts of the store, not of this process."""

    async def update() -> None:
        counts = await store.counts()
        for name in ("feeds", "paused", "entries", "articles", "blobs"):
            metrics.stored.labels(name).set(counts[name])
        metrics.last_seq.set(await store.last_seq())
        metrics.jobs.clear()  # a kind without jobs has no line
        for count in await store.job_counts():
            metrics.jobs.labels(count.kind, count.state).set(count.jobs)

    await _repeat(update, _COUNTS_EVERY_SEC, lifecycle)


async def _repeat(
    update: Callable[[], Awaitable[None]], every_sec: float, lifecycle: Lifecycle
) -> None:
    while not lifecycle.is_stopping():
        with suppress(FeedmillError):  # the scheduler meets the same error and reports it
            await update()
        await lifecycle.sleep_unless_stopping(every_sec)
