"""What needs a person's attention, in words: feeds that fail, webhooks that are stuck, reviews that wait."""
# Tested in tests/integration/interfaces/console/

from datetime import datetime, timedelta
from typing import Final, Literal
from urllib.parse import quote

from feedmill.engine.run.services import Services
from feedmill.engine.service.feeds.hosts import host_in_words, list_hosts
from feedmill.engine.service.health.feed_health import health_in_brief
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value
from feedmill.model.page import FeedFilter
from feedmill.push.trust import hub_in_words, never_pushes

AttentionKind = Literal["ours", "theirs", "host"]  # where the cause is, as far as it is known
_FEEDS: Final = 5
_HOSTS: Final = 5
_LATE: Final = timedelta(minutes=15)
_BY_TURNS: Final = FeedFilter(state="circuit-open")
_WORST: Final = FeedFilter(state="failing", order="failures", descending=True)


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
    """Feeds that are due while nothing polls."""
    now = services.clock.now()
    due = await services.store.next_due_at()
    if due is None or now - due < _LATE:
        return []
    return [
        Attention(
            kind="ours",
            subject="Nothing polls:",
            words="feeds are due, and no process takes them. Start one: feedmill run",
            path="/console/workers",
            since=due,
        )
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
