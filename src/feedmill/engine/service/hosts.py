"""Hosts and hubs, for every interface.

What is known about hosts: their state, since when, what is held for them, and who tries them.

Push for every interface: hubs and subscriptions in words, subscribe again, unsubscribe.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.quota import quota_in_words
from feedmill.engine.poll.push_evidence import SUBSCRIBE, push_status, subscribe_job
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError, NotFoundError
from feedmill.identify.hashes import volatile_in_words
from feedmill.model.addresses import mask_address
from feedmill.model.base import filled
from feedmill.model.feed import Feed, HostLane, PushSubscription
from feedmill.model.page import HostFilter
from feedmill.model.running.job import NewJob
from feedmill.publish.figure_shapes import HostPage, HostShape
from feedmill.publish.shapes import FeedPush, HubPage, HubShape, PushShape
from feedmill.publish.to_json import read_cursor, write_cursor
from feedmill.push.subscription import Announced, announced_on_page, hub_in_words, push_in_words
from feedmill.schedule.decide import own_schedule
from feedmill.schedule.explain import circuit_in_words, duration_in_words, instant_in_words
from feedmill.schedule.follow_up import BACKFILL, is_backfilled
from feedmill.schedule.host_pace import host_of_lane, host_state, limited_until

PAUSED: Final = "The feed is paused: it is not polled until it is resumed."
_MOST: Final = 1_000
_USUAL: Final = 100
_SLOWED: Final = 1.05  # a smaller factor makes no difference


async def list_hosts(
    services: Services,
    *,
    troubled: bool = False,
    resting: bool = False,
    text: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> HostPage:
    """Hosts by name, or those with `text` in it; `troubled`: only those with a problem.

    `resting`: only those that are left alone now, those with the most feeds first, one page.
    """
    now = services.clock.now()
    page = await services.store.host_lanes(
        HostFilter(troubled=troubled, resting=resting, text=text),
        now=now,
        after=read_cursor("hosts", cursor),
        limit=_USUAL if limit is None else min(max(limit, 1), _MOST),
    )
    items = tuple(_shape(lane, services, now) for lane in page.items)
    return HostPage(items=items, next=write_cursor("hosts", page.next))


async def get_host(host: str, services: Services) -> HostShape:
    """One host by its name; of a host with several lanes the one that waits longest."""
    now = services.clock.now()
    where = HostFilter(host=host.lower())
    found = (await services.store.host_lanes(where, now=now, limit=_MOST)).items
    if not found:
        message = f"there is no feed of the host {host[:200]!r}"
        raise NotFoundError(message, "`feedmill hosts --all` lists them")
    longest = max(
        found, key=lambda lane: lane.pace.next_ok_at or datetime.min.replace(tzinfo=now.tzinfo)
    )
    whole = HostLane(
        key=longest.key,
        pace=longest.pace,
        feeds=sum(lane.feeds for lane in found),
        due=sum(lane.due for lane in found),
    )
    return _shape(whole, services, now)


def host_in_words(host: HostShape) -> str:
    """How the host is doing, in one sentence without its end."""
    said = []
    why = f" ({host.reason})" if host.reason else ""
    since = f" since {instant_in_words(host.since)}" if host.since is not None else ""
    if host.state == "incident":
        tries = f"; feed {host.canary} tried it last" if host.canary is not None else ""
        said.append(f"fails{why}{since}, {host.failures:,} times in a row{tries}")
    elif host.state == "paused" and host.until is not None:
        said.append(f"pauses{why}{since}")
    elif host.state == "paused":
        said.append(f"paused{why}{since}; the pause is over, and the next poll tries the host")
    elif host.failures:
        times = "once" if host.failures == 1 else f"{host.failures:,} times in a row"
        said.append(f"failed {times}{why}")
    else:
        said.append("well")
    if host.until is not None:
        waiting = "1 feed waits" if host.held == 1 else f"{host.held:,} feeds wait"
        held = f", and {waiting}" if host.held else ""
        said.append(f"left alone until {instant_in_words(host.until)}{held}")
    if host.limited_urls:
        one = "1 address with a pause of its own"
        many = f"{host.limited_urls:,} addresses with a pause of their own"
        said.append(one if host.limited_urls == 1 else many)
    gap = duration_in_words(host.gap_sec) if host.gap_sec >= 1 else f"{host.gap_sec * 1000:.0f} ms"
    slow = f", {host.slow_down:.1f} times the usual" if host.slow_down > _SLOWED else ""
    said.append(f"{gap} between requests{slow}")
    return "; ".join(said)


async def hold_in_words(feed: Feed, services: Services) -> str | None:
    """Why a feed is not polled although its time has come or will come: it is paused, or its host; None: it is free."""
    if feed.paused:
        return PAUSED
    pace = await services.store.host_pace(feed.url)
    if pace is None:
        return None
    now = services.clock.now()
    own = limited_until(pace, feed.url, now)
    pause = pace.next_ok_at if pace.blocked_reason is not None else None
    until = max((at for at in (own, pause) if at is not None), default=None)
    if until is None or until <= now or feed.next_poll_at >= until:
        return None
    left = duration_in_words((until - now).total_seconds())
    why = f"({pace.blocked_reason or 'unavailable'})"
    since = f" since {instant_in_words(pace.troubled_since)}" if pace.troubled_since else ""
    who = f"; feed {pace.canary} tries it first" if pace.canary not in (None, feed.id) else ""
    what = "this address" if own is not None and own == until else "its host"
    return (
        f"The feed is held: {what} is left alone{since} {why} until {instant_in_words(until)}, for"
        f" another {left}{who}."
    )


def _shape(lane: HostLane, services: Services, now: datetime) -> HostShape:
    pace = lane.pace
    state = host_state(pace, services.config.host)
    until = pace.next_ok_at
    resting = until is not None and until > now and state != "well"
    return HostShape(
        host=host_of_lane(lane.key),
        state=state,
        reason=pace.blocked_reason or pace.failing_with,
        since=pace.troubled_since,
        until=until if resting else None,
        failures=pace.failures,
        canary=pace.canary if state == "incident" else None,
        feeds=lane.feeds,
        due=lane.due,
        held=lane.due if resting else 0,
        limited_urls=sum(end > now for _, end in pace.limited_urls),
        gap_sec=round(pace.gap_ms * pace.slow_down / 1000, 3),
        slow_down=pace.slow_down,
    )


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
    now, before = services.clock.now(), await services.store.find_job(SUBSCRIBE, feed.id)
    by_site = not feed.hubs or (before is not None and bool(before.payload.get("by_site")))
    job = subscribe_job(feed.id, announced, by_site=by_site)
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
