"""The three service levels of 002 §10, computed from the figures of one day.

fetch-latency        99 % of the answers with a body up to 1 MB came within 5 s, by payload class
failed-fetches       at most 2 % of a feed's polls failed through our own fault; polls that failed
                     through the publisher or the host do not count
scheduler-freshness  95 % of the feeds were polled within twice their interval
"""
# Tested in tests/integration/engine/service/health/test_service_levels.py

from datetime import datetime, timedelta
from typing import Final

from feedmill.engine.run.services import Services
from feedmill.engine.service.health.figure_shapes import latency_shapes
from feedmill.fetch.figures import sum_totals
from feedmill.model.running.figures import BudgetCounts, Freshness
from feedmill.publish.figure_shapes import LatencyShape, LevelShape, ServiceLevels

LATENCY_TARGET_MS: Final = 5_000.0
FAILED_TARGET: Final = 0.02
FRESH_TARGET: Final = 0.95
_DAY: Final = timedelta(days=1)
_PAYLOADS: Final = {
    "none": "answers without a body",
    "100kB": "bodies up to 100 kB",
    "1MB": "bodies up to 1 MB",
    "larger": "bodies over 1 MB",
}


async def service_levels(services: Services, *, day: datetime | None = None) -> ServiceLevels:
    """The levels of one day in UTC: today, as far as it has come, unless another is given."""
    store, now = services.store, services.clock.now()
    start = _midnight(now if day is None else day)
    found = await store.poll_totals(since=start, until=start + _DAY)
    latency = latency_shapes(sum_totals(one.totals for one in found))
    fresh = await store.freshness(
        start,
        now=now if start == _midnight(now) else None,
        initial_interval_sec=services.config.schedule.initial_interval_sec,
    )
    return ServiceLevels(
        day=start,
        levels=(
            *map(_latency_level, latency),
            _failure_level(await store.budget_counts(start, target=FAILED_TARGET)),
            _freshness_level(fresh),
        ),
    )


def _latency_level(latency: LatencyShape) -> LevelShape:
    """Met by every class that the target is for; larger bodies are shown, and have none."""
    value = latency.p99_ms
    has_target = latency.payload != "larger"
    return LevelShape(
        name="fetch-latency",
        payload=latency.payload,
        target=LATENCY_TARGET_MS,
        value=value,
        met=not has_target or value is None or value < LATENCY_TARGET_MS,
        measured=latency.polls,
        words=f"99 % of {_PAYLOADS[latency.payload]} came within {(value or 0) / 1000:.2f} s"
        + (f" (target {LATENCY_TARGET_MS / 1000:.0f} s)" if has_target else " (no target)"),
    )


def _failure_level(counts: BudgetCounts) -> LevelShape:
    value = counts.failed_ours / counts.polls if counts.polls else None
    return LevelShape(
        name="failed-fetches",
        target=FAILED_TARGET,
        value=None if value is None else round(value, 6),
        met=counts.over_budget == 0,
        measured=counts.polls,
        missed=counts.over_budget,
        words=f"{counts.failed_ours} of {counts.polls} polls failed through our own fault;"
        f" {counts.over_budget} of {counts.feeds} feeds are over their budget of"
        f" {FAILED_TARGET:.0%} a day",
    )


def _freshness_level(fresh: Freshness) -> LevelShape:
    value = 1 - fresh.late / fresh.feeds if fresh.feeds else None
    return LevelShape(
        name="scheduler-freshness",
        target=FRESH_TARGET,
        value=None if value is None else round(value, 6),
        met=value is None or value >= FRESH_TARGET,
        measured=fresh.feeds,
        missed=fresh.late,
        words=f"{fresh.feeds - fresh.late} of {fresh.feeds} feeds were polled within twice their"
        f" interval (target {FRESH_TARGET:.0%})",
    )


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
