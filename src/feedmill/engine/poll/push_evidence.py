"""What a poll has to do with push: the safety poll, the hubs that the document announces, missed entries (D41)."""
# Tested in tests/integration/engine/push/

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from feedmill.config import Config, PushConfig
from feedmill.engine.ports.feeds import PushStore
from feedmill.model.feed import Feed, PushEvidence, PushSubscription
from feedmill.model.fetch import Fresh
from feedmill.model.running.job import NewJob
from feedmill.model.schedule import Decision, Outcome
from feedmill.push.subscription import (
    Announced,
    announced_push,
    counts_as_missed,
    is_trusted,
    live_subscription,
)
from feedmill.schedule.delay import stretch_for_push

if TYPE_CHECKING:  # their modules import the parsers, which the words about push do without
    from feedmill.engine.documents.fetch_document import Answer
    from feedmill.engine.documents.read_document import ComparedDocument

SUBSCRIBE = "websub"  # kinds of jobs, see engine/jobs/runner.py
HUB_DOUBTED = "websub-hub"


class PushStatus(NamedTuple):
    """A feed at its hubs."""

    subscriptions: tuple[PushSubscription, ...] = ()
    live: PushSubscription | None = None
    trusted: bool = False


async def push_status(
    feed: Feed, store: PushStore, config: PushConfig, now: datetime
) -> PushStatus:
    """The feed's subscriptions; no query for a feed without a hub."""
    if config.public_url is None or not feed.hubs:
        return PushStatus()
    subscriptions = await store.push_subscriptions(feed.id)
    live = live_subscription(subscriptions, now)
    if live is None or live.streak < config.trust_after:
        return PushStatus(subscriptions, live)
    tally = next(iter(await store.hub_tallies(live.hub)), None)
    trusted = is_trusted(live, tally, trust_after=config.trust_after)
    return PushStatus(subscriptions, live, trusted)


def with_safety_poll(
    decision: Decision, feed: Feed, push: PushStatus, outcome: Outcome, config: PushConfig
) -> Decision:
    """The decision, stretched while the hub is trusted or the feed is push-only."""
    if feed.overrides.push_only:
        return stretch_for_push(decision, wait_sec=config.push_only_poll_sec, code="push-only")
    if push.trusted and outcome.kind != "failed" and not outcome.new_entries:
        return stretch_for_push(decision, wait_sec=config.safety_poll_sec, code="push-trusted")
    return decision


def announced_hubs(answer: "Answer", read: "ComparedDocument | None") -> Announced | None:
    """The hubs of a document that was read: Link header first, then what it says itself."""
    if read is None or not isinstance(answer.verdict, Fresh):
        return None
    return announced_push(
        answer.verdict.links,
        hubs=read.parsed.hubs,
        self_url=read.clean.self_url,
        url=answer.verdict.document.url or answer.url,
    )


def missed_entries(
    feed: Feed, push: PushStatus, outcome: Outcome, now: datetime
) -> PushEvidence | None:
    """The entries that a poll found before the hub pushed them."""
    live = push.live
    if live is None or not outcome.new_entries:
        return None
    if not counts_as_missed(live, last_fetch_at=feed.last_fetch_at):
        return None
    return PushEvidence(subscription_id=live.id, at=now, by_poll=outcome.new_entries)


def push_jobs(
    feed: Feed,
    push: PushStatus,
    announced: Announced | None,
    missed: PushEvidence | None,
    config: Config,
) -> tuple[NewJob, ...]:
    """Subscribe to hubs that are new, and doubt a trusted hub that missed something."""
    if config.push.public_url is None:
        return ()
    jobs: list[NewJob] = []
    if announced is not None and not _is_known(announced, push):
        jobs.append(subscribe_job(feed.id, announced))
    if missed is not None and push.trusted and push.live is not None:
        hub = push.live.hub
        jobs.append(NewJob(kind=HUB_DOUBTED, key=hub, payload={"hub": hub}, sooner=True))
    return tuple(jobs)


def subscribe_job(feed_id: str, announced: Announced, *, by_site: bool = False) -> NewJob:
    """The job that subscribes a feed and renews its lease; `by_site`: a page announced the hub, no document does."""
    return NewJob(
        kind=SUBSCRIBE,
        key=feed_id,
        url=announced.hubs[0],
        feed_id=feed_id,
        payload={"hubs": list(announced.hubs), "topic": announced.topic, "by_site": by_site},
        sooner=True,
    )


def _is_known(announced: Announced, push: PushStatus) -> bool:
    """Whether the job of this feed deals with one of these hubs and this topic."""
    return any(
        one.hub in announced.hubs and one.topic == announced.topic and one.state != "ended"
        for one in push.subscriptions
    )
