"""Gauges for whoever scales the mill: what is due, what is held, what was not handed on yet."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.observe.metrics import Metrics

_EVERY_SEC: Final = 5.0


async def run_gauges(
    services: Services, metrics: Metrics, watch: Lifecycle, *, consumers: Sequence[str] = ()
) -> None:
    """Bring the gauges up to date until the run ends; `consumers` are cursors of the log."""
    while not watch.is_stopping():
        with suppress(FeedmillError):  # whoever works meets it too, and tells
            await _gauge(services, metrics, watch, consumers)
        await watch.sleep_unless_stopping(_EVERY_SEC)


async def _gauge(
    services: Services, metrics: Metrics, watch: Lifecycle, consumers: Sequence[str]
) -> None:
    store = services.store
    metrics.lanes.set(watch.lanes)
    metrics.due_lanes.set(await store.due_lanes(services.clock.now()))
    last_seq = await store.last_seq()
    metrics.last_seq.set(last_seq)
    for consumer in consumers:
        metrics.relay_lag.labels(consumer).set(last_seq - await store.cursor(consumer))
    told = [webhook.cursor for webhook in await store.webhooks() if webhook.state == "active"]
    metrics.relay_lag.labels("webhooks").set(last_seq - min(told, default=last_seq))
