"""The whole engine on one screen: feeds, recent polls, hosts that rest, sizes, service levels, advice.

The three service levels of 002 §10 are computed from the figures of one day:

fetch-latency        99 % of the answers with a body up to 1 MB came within 5 s, by payload class
failed-fetches       at most 2 % of a feed's polls failed through our own fault; polls that failed
                     through the publisher or the host do not count
scheduler-freshness  95 % of the feeds were polled within twice their interval
"""
# Tested in tests/integration/engine/service/health/test_status.py

from datetime import UTC, datetime, timedelta
from typing import Final

from feedmill.engine.maintain.raw_owner import check_raw_owner, describe_owner
from feedmill.engine.run.services import Services
from feedmill.engine.service.feeds.hosts import host_in_words, list_hosts
from feedmill.engine.service.health.figures import failure_shape, figures_shape, latency_shapes
from feedmill.errors import BlobError, RangeError
from feedmill.fetch.figures import sum_totals
from feedmill.model.running.figures import BudgetCounts, FeedCounts, Freshness
from feedmill.publish.figure_shapes import (
    FailureShape,
    HostShape,
    LatencyShape,
    LevelShape,
    ServiceLevels,
    StatusShape,
)

_HOUR: Final = timedelta(hours=1)
_SHOWN: Final = 10


async def status(services: Services) -> StatusShape:
    """What is going on, since the beginning of the hour before this one."""
    store, now = services.store, services.clock.now()
    since = now.replace(minute=0, second=0, microsecond=0) - _HOUR
    feeds = await store.feed_counts(now)
    recent = sum_totals(
        one.totals for one in await store.poll_totals(since=since, until=now + _HOUR)
    )
    failures = tuple(
        map(failure_shape, await store.host_failures(since=now, until=now, limit=_SHOWN))
    )
    resting = (await list_hosts(services, resting=True, limit=_SHOWN)).items
    levels = (await service_levels(services)).levels
    return StatusShape(
        at=now,
        feeds=feeds,
        since=since,
        recent=figures_shape(recent.figures),
        failures=failures,
        resting_hosts=resting,
        sizes=await store.store_sizes(),
        levels=levels,
        advice=(
            await _raw_advice(services)
            + _advice(feeds, recent.figures.polls, failures, resting, levels)
        ),
    )


async def _raw_advice(services: Services) -> tuple[str, ...]:
    """How to mend a raw store that another store indexes (D36)."""
    try:
        owner = await check_raw_owner(services.store, services.blobs)
    except BlobError as problem:
        return (f"The raw store cannot be read: {problem}",)
    return () if owner.is_ours else (describe_owner(owner),)


def _advice(
    feeds: FeedCounts,
    recent_polls: int,
    failures: tuple[FailureShape, ...],
    resting: tuple[HostShape, ...],
    levels: tuple[LevelShape, ...],
) -> tuple[str, ...]:
    """What to do next, the most urgent first."""
    said: list[str] = []
    if not feeds.feeds:
        return ("Subscribe to a feed: feedmill add URL",)
    late = max(feeds.late - feeds.held, 0)  # what waits for its host is not ours to hurry
    if late and not recent_polls:
        said.append(f"Nothing polls: {_feeds(late)} late. Start a scheduler: feedmill run")
    elif late > 0.05 * feeds.feeds:
        said.append(
            f"{_feeds(late)} late and their hosts do not ask for patience: polling does not keep"
            " up. See feedmill top --by lag, then add workers or raise [run] concurrency"
        )
    ours = [one for one in failures if one.fault == "ours"]
    if ours:
        first = ours[0]
        said.append(
            f"{first.count} polls of {first.host} failed with {first.outcome}, which is a setting or"
            " a limit of ours: feedmill top --by ours"
        )
    said += [f"{one.host}: {host_in_words(one)}" for one in resting[:3]]
    if feeds.gone:
        said.append(
            f"{_feeds(feeds.gone)} gone, say the publishers: look for new addresses or remove them"
        )
    if feeds.suspect:
        said.append(
            f"{_feeds(feeds.suspect)} suspect, after many failures in a row or a 410:"
            " feedmill list --state suspect"
        )
    if feeds.circuit_open:
        said.append(
            f"{_feeds(feeds.circuit_open)} polled rarely after working and failing by turns:"
            " feedmill list --state circuit-open"
        )
    missed = [one for one in levels if not one.met]
    said += [f"A service level is missed: {one.words}" for one in missed]
    return tuple(said) or ("Nothing needs attention",)


def _feeds(count: int) -> str:
    return "1 feed is" if count == 1 else f"{count:,} feeds are"


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
    if start == _midnight(datetime.max.replace(tzinfo=UTC)):
        message = "the day ends after the year 9999"
        raise RangeError(message)
    found = await store.poll_totals(since=start, until=start + _DAY)
    latency = latency_shapes(sum_totals(one.totals for one in found))
    fresh = Freshness()  # of a day that has not begun
    if start <= now:
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
