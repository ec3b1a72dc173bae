"""Push for every interface: hubs and subscriptions in words, subscribe again, unsubscribe."""
# Tested in tests/integration/engine/push/

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from feedmill.archive.walk import BACKFILL, is_backfilled
from feedmill.engine.documents.quota import quota_in_words
from feedmill.engine.poll.push_evidence import push_status, subscribe_job
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError
from feedmill.identify.volatile import volatile_in_words
from feedmill.model.addresses import mask_address
from feedmill.model.base import filled
from feedmill.model.feed import Feed
from feedmill.model.push import PushSubscription
from feedmill.model.running.job import NewJob
from feedmill.publish.shapes import FeedPush, HubPage, HubShape, PushShape
from feedmill.push.subscription import Announced, announced_on_page
from feedmill.push.trust import hub_in_words, push_in_words
from feedmill.schedule.decide import own_schedule
from feedmill.schedule.explain import circuit_in_words, duration_in_words


async def list_hubs(services: Services) -> HubPage:
    """All hubs with what they delivered, in figures and in words."""
    now = services.clock.now()
    return HubPage(
        items=tuple(
            filled(HubShape, one, hub=mask_address(one.hub), words=hub_in_words(one, now))
            for one in await services.store.hub_tallies()
        )
    )


async def feed_push(feed: Feed, services: Services) -> FeedPush:
    """The subscriptions of a feed, whether its hub is trusted, and what that means."""
    config, now = services.config.push, services.clock.now()
    found = await services.store.push_subscriptions(feed.id)
    status = await push_status(feed, services.store, config, now)
    words = push_in_words(
        found, now, trusted=status.trusted, safety_poll=timedelta(seconds=config.safety_poll_sec)
    )
    if config.public_url is None:
        words = _OFF + ("." if feed.overrides.push_only else "; the feed is polled as usual.")
    return FeedPush(
        feed_id=feed.id,
        hubs=tuple(map(mask_address, feed.hubs)),
        trusted=status.trusted,
        words=words,
        subscriptions=tuple(push_shape(one) for one in found),
    )


def push_shape(one: PushSubscription) -> PushShape:
    """A subscription without its secret and its callback, tokens in addresses masked."""
    return filled(PushShape, one, hub=mask_address(one.hub), topic=mask_address(one.topic))


async def resubscribe(feed: Feed, services: Services) -> FeedPush:
    """Ask the feed's hub anew now; ConflictError when push is off or the feed has no hub."""
    if services.config.push.public_url is None:
        message = "push is off: no address is set at which hubs reach feedmill"
        hint = "set FEEDMILL_PUSH_PUBLIC_URL to the public address of the push listener"
        raise ConflictError(message, reason="push-off", hint=hint)
    known = await services.store.push_subscriptions(feed.id)
    announced = await _announced(feed, known, services)
    if announced is None:
        message = "neither the feed nor its site announces a hub"
        raise ConflictError(message, reason="no-hub", hint="it is polled as usual")
    if announced.hubs != feed.hubs:
        await services.store.change_feed_hubs(feed.id, announced.hubs)
    for one in known:
        if one.state in ("active", "asked"):
            ended = replace(one, state="ended", last_error="asked again by hand")
            await services.store.change_push_subscription(ended)
    job, now = subscribe_job(feed.id, announced), services.clock.now()
    before = await services.store.find_job(job.kind, job.key)
    if before is not None:
        await services.store.cancel_job(before.id, now=now)
    await services.store.add_job(job, now=now, restart=True)
    return await feed_push(feed, services)


async def unsubscribe_feed(feed: Feed, services: Services) -> None:
    """Let hubs know that a feed is about to be removed."""
    from feedmill.engine.jobs.websub import UNSUBSCRIBE  # noqa: PLC0415  # not for words about push

    now = services.clock.now()
    for one in await services.store.push_subscriptions(feed.id):
        if one.state not in ("active", "asked"):
            continue
        await services.store.change_push_subscription(
            replace(one, state="unsubscribing", asked_at=now)
        )
        new = NewJob(kind=UNSUBSCRIBE, key=f"{one.id}", url=one.hub, payload={"token": one.token})
        await services.store.add_job(new, now=now)


async def effects_in_words(feed: Feed, services: Services) -> tuple[str, ...]:
    """What its errors, its volatile fields, its own settings and its hub do to it, one sentence each."""
    own, config = feed.overrides, services.config
    circuit = circuit_in_words(feed.schedule.errors, own_schedule(own, config.schedule))
    said = [*(() if circuit is None else (circuit,)), *volatile_in_words(feed.volatile_fields)]
    if own.min_interval_sec is not None:
        said.append(f"Own setting: polled at most every {duration_in_words(own.min_interval_sec)}.")
    if own.max_interval_sec is not None:
        said.append(
            f"Own setting: polled at least every {duration_in_words(own.max_interval_sec)}"
            " while it answers."
        )
    if own.disable_autodiscovery:
        said.append(
            "Own setting: no other address is looked for, neither by https or self link nor a hub"
            " on its site."
        )
    said += quota_in_words(feed, config.quota)
    said += await _backfill_in_words(feed, services)
    push = await feed_push(feed, services) if feed.hubs or own.push_only else None
    if own.push_only:
        every = duration_in_words(config.push.push_only_poll_sec)
        said.append(f"Own setting: push only, so it is polled every {every}.")
        if push is not None and not any(one.state == "active" for one in push.subscriptions):
            said.append("No hub delivers, so new entries may be found as late as that.")
    if push is not None:
        said.append(push.words)
    return tuple(said)


async def _backfill_in_words(feed: Feed, services: Services) -> tuple[str, ...]:
    """How far the walk through its archive has come, or that there will be one."""
    job = await services.store.find_job(BACKFILL, feed.id)
    if feed.overrides.archive_backfill:
        whose = "Own setting: "
    elif is_backfilled(feed, services.config.backfill):
        whose = "By its tags: "
    elif job is None:
        return ()
    else:
        whose = "On request: "
    if job is None:
        return (f"{whose}its archive is read once, after its next document.",)
    done = ", ".join(f"{name} {count}" for name, count in job.progress.items())
    return (f"{whose}its archive is read once; {job.state}" + (f" ({done})." if done else "."),)


async def _announced(
    feed: Feed, known: Sequence[PushSubscription], services: Services
) -> Announced | None:
    """What the feed announced at its last poll, else what the page of its site announces."""
    if feed.hubs:
        topic = next((one.topic for one in known if one.hub in feed.hubs), None)
        return Announced(hubs=feed.hubs, topic=topic or feed.self_url or feed.url)
    if feed.site_url is None or feed.overrides.disable_autodiscovery:
        return None
    from feedmill.engine.documents.fetch_document import probe_other_host  # noqa: PLC0415  # see above

    answer = await probe_other_host(feed.site_url, feed, services, max_wait_sec=_SITE_WAIT_SEC)
    document = None if answer is None else answer.document
    if answer is None or document is None:
        return None
    return announced_on_page(document.body, document.content_type, document.url or answer.url)


_SITE_WAIT_SEC = 10.0
_OFF = "Push: off, because [push] public_url is not set"
