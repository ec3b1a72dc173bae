"""The whole engine on one screen: feeds, recent polls, hosts that rest, sizes, service levels, advice.

The three service levels of 002 §10 are computed from the figures of one day:

fetch-latency        99 % of the answers with a body up to 1 MB came within 5 s, by payload class
failed-fetches       at most 2 % of a feed's polls failed through our own fault; polls that failed
                     through the publisher or the host do not count
scheduler-freshness  95 % of the feeds were polled within twice their interval

What needs a person's attention, in words: feeds that fail, webhooks that are stuck, reviews that wait.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from urllib.parse import quote

from feedmill.engine.maintain.raw_store import check_raw_owner, describe_owner
from feedmill.engine.run.readiness import SILENT_AFTER_SEC
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_health import health_in_brief
from feedmill.engine.service.figures import failure_shape, figures_shape, latency_shapes
from feedmill.engine.service.hosts import host_in_words, list_hosts
from feedmill.errors import BlobError, RangeError
from feedmill.fetch.figures import sum_totals
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value
from feedmill.model.page import FeedFilter
from feedmill.model.running.figures import BudgetCounts, FeedCounts, Freshness
from feedmill.model.running.worker import POLLING_ROLES
from feedmill.publish.figure_shapes import (
    FailureShape,
    HostShape,
    LatencyShape,
    LevelShape,
    ServiceLevels,
    StatusShape,
)
from feedmill.push.subscription import hub_in_words, never_pushes

_HOUR: Final = timedelta(hours=1)
_SHOWN: Final = 10
AttentionKind = Literal["ours", "theirs", "host"]  # where the cause is, as far as it is known
_FEEDS: Final = 5
_HOSTS: Final = 5
_LATE: Final = timedelta(minutes=15)
_BY_TURNS: Final = FeedFilter(state="circuit-open")
_WORST: Final = FeedFilter(state="failing", order="failures", descending=True)


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
    advice = _advice(
        feeds,
        recent.figures.polls,
        failures,
        resting,
        levels,
        is_polling=await _is_polling(services),
    )
    return StatusShape(
        at=now,
        feeds=feeds,
        since=since,
        recent=figures_shape(recent.figures),
        failures=failures,
        resting_hosts=resting,
        sizes=await store.store_sizes(),
        levels=levels,
        advice=await _raw_advice(services) + advice,
    )


async def _raw_advice(services: Services) -> tuple[str, ...]:
    """How to mend a raw store that another store indexes (D36)."""
    try:
        owner = await check_raw_owner(services.store, services.blobs)
    except BlobError as problem:
        return (f"The raw store cannot be read: {problem}",)
    return () if owner.is_ours else (describe_owner(owner),)


async def _is_polling(services: Services) -> bool:
    """Whether a process that polls has given a sign of life lately."""
    silent = services.clock.now() - timedelta(seconds=SILENT_AFTER_SEC)
    processes = [one.worker for one in await services.store.workers() if one.worker]
    return any(one.role in POLLING_ROLES and one.seen_at > silent for one in processes)


def _advice(
    feeds: FeedCounts,
    recent_polls: int,
    failures: tuple[FailureShape, ...],
    resting: tuple[HostShape, ...],
    levels: tuple[LevelShape, ...],
    *,
    is_polling: bool,
) -> tuple[str, ...]:
    """What to do next, the most urgent first."""
    said: list[str] = []
    if not feeds.feeds:
        return ("Subscribe to a feed: feedmill add URL",)
    late = max(feeds.late - feeds.held, 0)  # what waits for its host is not ours to hurry
    due = max(feeds.due - feeds.held, 0)
    if late and not recent_polls:
        said.append(f"Nothing polls: {_count_of_feeds(late)} late. Start a scheduler: feedmill run")
    elif due and not is_polling:
        said.append(
            f"{_count_of_feeds(due)} due, and no process polls now: feedmill sync polls once, feedmill run"
            " until it is stopped"
        )
    elif late > 0.05 * feeds.feeds:
        said.append(
            f"{_count_of_feeds(late)} late and their hosts do not ask for patience: polling does not keep"
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
            f"{_count_of_feeds(feeds.gone)} gone, say the publishers: look for new addresses or remove them"
        )
    if feeds.suspect:
        said.append(
            f"{_count_of_feeds(feeds.suspect)} suspect, after many failures in a row or a 410:"
            " feedmill list --state suspect"
        )
    if feeds.circuit_open:
        said.append(
            f"{_count_of_feeds(feeds.circuit_open)} polled rarely after working and failing by turns:"
            " feedmill list --state circuit-open"
        )
    missed = [one for one in levels if not one.met]
    said += [f"A service level is missed: {one.words}" for one in missed]
    return tuple(said) or ("Nothing needs attention",)


def _count_of_feeds(count: int) -> str:
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
        words=f"99 % of {_PAYLOADS[latency.payload]} came within {_latency_in_words(value or 0)}"
        + (f" (target {LATENCY_TARGET_MS / 1000:.0f} s)" if has_target else " (no target)"),
    )


def _latency_in_words(ms: float) -> str:
    return f"{ms:,.0f} ms" if ms < 1_000 else f"{ms / 1_000:.2f} s"


def _failure_level(counts: BudgetCounts) -> LevelShape:
    value = counts.failed_ours / counts.polls if counts.polls else None
    return LevelShape(
        name="failed-fetches",
        target=FAILED_TARGET,
        value=None if value is None else round(value, 6),
        met=counts.over_budget == 0,
        measured=counts.polls,
        missed=counts.over_budget,
        words=f"{counts.failed_ours:,} of {counts.polls:,} polls failed through our own fault;"
        f" {counts.over_budget:,} of {counts.feeds:,} feeds are over their budget of"
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
        words=f"{fresh.feeds - fresh.late:,} of {fresh.feeds:,} feeds were polled within twice their"
        f" interval (target {FRESH_TARGET:.0%})",
    )


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


class Attention(Value):
    """One thing to look at."""

    kind: AttentionKind
    subject: str
    words: str
    path: str = ""  # of the page in the console that shows it
    since: datetime | None = None


async def needs_attention(services: Services) -> tuple[Attention, ...]:
    """Everything that does not go away by itself, the most urgent first."""
    return (
        *await _late(services),
        *await _hosts(services),
        *await _hubs(services),
        *await _webhooks(services),
        *await _reviews(services),
        *await _feeds(services),
    )


async def _late(services: Services) -> list[Attention]:
    """Feeds that are due while nothing polls, or for too long."""
    now = services.clock.now()
    due = await services.store.next_due_at()
    if due is None or due > now:
        return []
    is_polling = await _is_polling(services)
    if is_polling and now - due < _LATE:
        return []
    subject = "Polling is late:" if is_polling else "Nothing polls:"
    words = (
        "the processes do not keep up. Add workers, or raise [run] concurrency"
        if is_polling
        else "feeds are due, and no process takes them. Start one: feedmill run"
    )
    return [
        Attention(kind="ours", subject=subject, words=words, path="/console/workers", since=due)
    ]


async def _hosts(services: Services) -> list[Attention]:
    return [
        Attention(
            kind="host",
            subject=one.host,
            words=host_in_words(one),
            path=f"/console/hosts/{quote(one.host)}",
        )
        for one in (await list_hosts(services, resting=True, limit=_HOSTS)).items
    ]


async def _hubs(services: Services) -> list[Attention]:
    """Hubs that accept subscriptions and never push: their feeds are found by polling alone."""
    now = services.clock.now()
    silent = [one for one in await services.store.hub_tallies() if never_pushes(one, now)]
    return [
        Attention(
            kind="theirs",
            subject="Hub",
            words=hub_in_words(one, now),
            path="/console/hosts#hubs",
            since=one.verified_at,
        )
        for one in silent[:_HOSTS]
    ]


async def _webhooks(services: Services) -> list[Attention]:
    found: list[Attention] = []
    for webhook in await services.store.webhooks():
        if webhook.paused_reason == "gone":
            words = "answered 410 Gone and was paused"
        elif webhook.attempts > 0:
            words = f"does not accept events ({webhook.last_result}, {webhook.attempts} attempts)"
        else:
            continue
        found.append(
            Attention(
                kind="theirs",
                subject=f"Webhook {mask_address(webhook.url)}",
                words=words,
                path=f"/console/webhooks/{webhook.id}",
                since=webhook.last_delivery_at,
            )
        )
    return found


async def _reviews(services: Services) -> list[Attention]:
    questions = await services.store.questions(services.clock.now())
    held = await services.store.held(limit=1)
    found = [
        Attention(
            kind="host",
            subject=f"Question {one.code}",
            words=f"from {one.asked_by} waits for an answer: {len(one.candidate_ids)} entries",
            path="/console/review",
            since=one.asked_at,
        )
        for one in questions
    ]
    if held.items:
        found.append(
            Attention(
                kind="host",
                subject="Held entries",
                words="wait for a review",
                path="/console/review",
                since=held.items[0].held_at,
            )
        )
    return found


async def _feeds(services: Services) -> list[Attention]:
    page = await services.store.find_feeds(_WORST, limit=_FEEDS)
    by_turns = await services.store.find_feeds(_BY_TURNS, limit=_FEEDS)
    found = [
        Attention(
            kind="theirs",
            subject=feed.title or mask_address(feed.url),
            words=health_in_brief(feed),
            path=f"/console/feeds/{feed.id}",
            since=feed.last_success_at,
        )
        for feed in (*page.items, *(one for one in by_turns.items if one not in page.items))
    ]
    if page.next is not None:
        more = await services.store.count_feeds(_WORST) - len(page.items)
        found.append(
            Attention(
                kind="theirs",
                subject="1 more feed" if more == 1 else f"{more:,} more feeds",
                words="fails" if more == 1 else "fail",
                path="/console/feeds?state=failing&order=failures&down=1",
            )
        )
    return found
