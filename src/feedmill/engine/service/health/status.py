"""The whole engine on one screen: feeds, recent polls, hosts that rest, sizes, service levels, advice."""
# Tested in tests/integration/engine/service/health/test_status.py

from datetime import timedelta
from typing import Final

from feedmill.engine.maintain.raw_owner import check_raw_owner, describe_owner
from feedmill.engine.run.services import Services
from feedmill.engine.service.feeds.hosts import host_in_words, list_hosts
from feedmill.engine.service.health.figure_shapes import failure_shape, figures_shape
from feedmill.engine.service.health.service_levels import service_levels
from feedmill.errors import BlobError
from feedmill.fetch.figures import sum_totals
from feedmill.model.running.figures import FeedCounts
from feedmill.publish.figure_shapes import FailureShape, HostShape, LevelShape, StatusShape

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
        said.append(f"{_feeds(feeds.suspect)} failing for long: feedmill top --by errors")
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
