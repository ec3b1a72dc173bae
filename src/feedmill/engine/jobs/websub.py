"""Job kinds of WebSub: subscribe and renew, unsubscribe, and poll the feeds of a hub that missed something.

A `websub` job belongs to a feed and lives as long as the feed has a hub: it asks, waits for the
verification, sleeps until 80 % of the lease, and asks again. A hub that refuses, never verifies or
cannot be reached is left for the next one; after the last, all are tried again a day later.

Job kind of our WebSub hub: verify that a subscriber wants what was asked in its name (§5.3).
"""
# Tested in tests/integration/engine/push/
# Tested in tests/integration/engine/push/test_websub_hub.py

import secrets
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

import msgspec
from msgspec.structs import replace

from feedmill.engine.jobs.kind import JobKind, JobRun
from feedmill.engine.poll.push_evidence import HUB_DOUBTED, SUBSCRIBE
from feedmill.fetch.headers import header_value, is_sendable
from feedmill.model.event import EventType
from feedmill.model.feed import PushState, PushSubscription
from feedmill.model.fetch import Headers, RawResponse
from feedmill.model.running.job import Again, Done, Failed, JobResult, Later
from feedmill.model.running.webhook import Webhook, WebhookSecret
from feedmill.push.hub import FORM, HubRequest, is_verified, verification_url
from feedmill.push.subscription import (
    Accepted,
    HubAnswer,
    Mode,
    Redirected,
    Refused,
    Unavailable,
    callback_url,
    judge_answer,
    next_hub,
    renew_at,
    subscribe_form,
)

UNSUBSCRIBE: Final = "websub-unsubscribe"
_TRIES: Final = 3  # of one hub that cannot be reached, before the next
_MAX_REDIRECTS: Final = 5
_RETRY: Final = timedelta(minutes=5)
_ALL_REFUSED: Final = timedelta(days=1)  # after the last hub, or while push is off
_TOKEN_BYTES: Final = 32
VERIFY: Final = "hub-verify"
TYPES: Final[tuple[EventType, ...]] = ("new_entry", "entry.updated", "entry.removed")
_CHALLENGE_BYTES: Final = 24


async def subscribe(run: JobRun) -> JobResult:
    """One step: look at the subscription, and ask a hub when it is time."""
    services, job = run.services, run.job
    if services.config.push.public_url is None:  # here; another process may have it
        return Later(wait=_ALL_REFUSED, reason="push is off: [push] public_url is not set")
    feed = None if job.feed_id is None else await services.store.feed(job.feed_id)
    if feed is None:
        return Done(reason="the feed is gone")
    now = services.clock.now()
    hubs, topic = tuple(job.payload["hubs"]), str(job.payload["topic"])
    known = await services.store.push_subscriptions(feed.id)
    if not feed.hubs and not job.payload.get("by_site"):
        # Without this job they are not renewed: a hub that is announced later is a new one.
        for one in known:
            await _change(run, one, "ended", "the publisher announces no hub")
        return Done(reason="the feed announces no hub")
    current = next((one for one in known if one.state in ("active", "asked")), None)
    if current is not None:
        waiting = await _wait(run, current, hubs, topic, now)
        if waiting is not None:
            return waiting
    tried = tuple(job.cursor.get("tried", ()))
    hub = next_hub(hubs, tried)
    if hub is None:
        return Again(cursor={}, url=hubs[0], after=_ALL_REFUSED)
    target = str(job.cursor.get("target") or hub)
    if job.url != target:  # under the lane of the host that is asked
        return Again(cursor={**job.cursor, "target": target}, url=target)
    asked = await _prepared(run, known, hub, topic, now)
    return await _ask(run, asked, target)


async def unsubscribe(run: JobRun) -> JobResult:
    """Ask the hub to stop; its verification ends the subscription."""
    found = await run.services.store.push_subscription(run.job.payload["token"])
    public_url = run.services.config.push.public_url
    if found is None or found.state != "unsubscribing" or public_url is None:
        return Done()
    target = run.job.url or found.hub
    answer = await _send(run, found, target, "unsubscribe")
    match answer:
        case Later():
            return answer
        case Redirected(url=url):
            return Again(url=url) if run.job.steps <= _MAX_REDIRECTS else Done()
        case Unavailable(reason=reason):
            return Failed(reason=reason)
        case Accepted() | Refused():
            return Done()
        case _:
            assert_never(answer)


async def doubt_hub(run: JobRun) -> JobResult:
    """Bring the safety polls of a hub's other feeds forward to their own pace."""
    store, now = run.services.store, run.services.clock.now()
    hub, brought = str(run.job.payload["hub"]), 0
    for one in await store.push_subscriptions():
        if one.hub != hub or one.feed_id is None or one.state != "active":
            continue
        feed = await store.feed(one.feed_id)
        if feed is not None and not feed.overrides.push_only:
            at = now + timedelta(seconds=feed.schedule.interval_sec)
            brought += await store.make_due([feed.id], at)
    return Done(progress={"feeds": brought})


async def _wait(
    run: JobRun, current: PushSubscription, hubs: tuple[str, ...], topic: str, now: datetime
) -> JobResult | None:
    """What to do with the current subscription; None: ask now."""
    fits = current.hub in hubs and current.topic == topic
    if not fits:
        await _change(run, current, "ended", "the publisher announces another hub or topic")
        return None
    verify = timedelta(seconds=run.services.config.push.verify_sec)
    begun = current.asked_at or now
    if current.state == "active":
        due_at, until = renew_at(current), current.lease_until or now
        if due_at is not None and now < due_at:
            return Again(cursor={}, url=current.hub, after=due_at - now)
        answered = current.verified_at is not None and current.verified_at >= begun
        if answered or not run.job.cursor.get("asked"):
            return None
        again_at = begun + max(verify, (until - begun) / 4)
        if now < min(again_at, max(until, begun + verify)):
            return Again(after=again_at - now)
        if now < until:
            return None
        await _change(run, current, "unverified", "the hub did not verify the renewal")
        return _on_to_the_next(run, current.hub)
    if run.job.cursor.get("asked") and now < begun + verify:
        return Again(after=begun + verify - now)
    if run.job.cursor.get("asked"):
        await _change(run, current, "unverified", "the hub accepted the request and never verified")
        return _on_to_the_next(run, current.hub)
    return None


async def _prepared(
    run: JobRun, known: tuple[PushSubscription, ...], hub: str, topic: str, now: datetime
) -> PushSubscription:
    """The row of this feed and hub, stored before the hub is asked: it may verify at once."""
    found = next((one for one in known if one.hub == hub and one.topic == topic), None)
    if found is not None:
        state: PushState = "active" if found.state == "active" else "asked"
        asked = replace(found, state=state, asked_at=now, last_error="")
        await run.services.store.change_push_subscription(asked)
        return asked
    new = PushSubscription(
        token=secrets.token_urlsafe(_TOKEN_BYTES),
        secret=secrets.token_urlsafe(_TOKEN_BYTES),
        feed_id=run.job.feed_id,
        hub=hub,
        topic=topic,
        created_at=now,
        asked_at=now,
    )
    return await run.services.store.add_push_subscription(new)


async def _ask(run: JobRun, asked: PushSubscription, target: str) -> JobResult:
    answer = await _send(run, asked, target, "subscribe")
    cursor = run.job.cursor
    match answer:
        case Later():
            return answer
        case Accepted():
            # A hub may verify or deny before it answers.
            now_stored = await run.services.store.push_subscription(asked.token)
            if now_stored is not None and now_stored.state == "denied":
                return _on_to_the_next(run, asked.hub)
            verify = timedelta(seconds=run.services.config.push.verify_sec)
            return Again(cursor={**cursor, "asked": True, "failures": 0}, after=verify)
        case Redirected(url=url):
            redirects = cursor.get("redirects", 0) + 1
            if redirects > _MAX_REDIRECTS:
                await _change(run, asked, "failed", "too many redirects")
                return _on_to_the_next(run, asked.hub)
            return Again(cursor={**cursor, "target": url, "redirects": redirects}, url=url)
        case Refused(reason=reason):
            await _change(run, asked, "denied", f"the hub refused the request ({reason})")
            return _on_to_the_next(run, asked.hub)
        case Unavailable(reason=reason):
            failures = cursor.get("failures", 0) + 1
            if failures >= _TRIES:
                if asked.state != "active":
                    await _change(run, asked, "failed", f"the hub does not answer ({reason})")
                return _on_to_the_next(run, asked.hub)
            return Again(cursor={**cursor, "failures": failures}, after=_RETRY * failures)
        case _:
            assert_never(answer)


async def _send(
    run: JobRun, subscription: PushSubscription, target: str, mode: Mode
) -> HubAnswer | Later:
    config = run.services.config
    callback = callback_url(config.push.public_url or "", subscription.token)
    form = subscribe_form(
        subscription, callback=callback, lease_sec=config.push.lease_sec, mode=mode
    )
    agent = config.fetch.user_agent
    headers: Headers = (
        ("User-Agent", agent if is_sendable(agent) else "feedmill"),
        ("Accept", "*/*"),
        ("Content-Type", FORM),
    )
    response = await run.post(target, headers, form)
    if isinstance(response, RawResponse):
        location = header_value(response.headers, "location")
        return judge_answer(target, response.status, location, response.error or "")
    return response


async def _change(
    run: JobRun, subscription: PushSubscription, state: PushState, error: str
) -> None:
    changed = replace(subscription, state=state, last_error=error)
    await run.services.store.change_push_subscription(changed)


def _on_to_the_next(run: JobRun, hub: str) -> Again:
    tried: list[Any] = [*run.job.cursor.get("tried", ()), hub]
    return Again(cursor={"tried": tried})


KINDS: Final = (
    JobKind(SUBSCRIBE, subscribe),
    JobKind(UNSUBSCRIBE, unsubscribe, max_attempts=5),
    JobKind(HUB_DOUBTED, doubt_hub, concurrency=1),
)


async def verify(run: JobRun) -> JobResult:
    """Send the challenge; an echo begins, renews or ends the subscription."""
    asked = run.job.payload
    request = msgspec.convert(asked, HubRequest)
    challenge = secrets.token_urlsafe(_CHALLENGE_BYTES)
    # A redirect confirms nothing (§5.3): an open redirector could be subscribed without its consent.
    config = replace(run.services.config.fetch, max_redirects=0)
    answer = await run.fetch(verification_url(request, challenge), config=config)
    if isinstance(answer, Later):
        return answer
    response = answer.response
    if response.status is None or response.status >= 500:
        return Failed(reason=response.error or f"http-{response.status}")
    if not is_verified(response.status, response.body, challenge):
        return Done(reason="the subscriber did not confirm")
    await _apply(run, request, asked)
    return Done()


async def _apply(run: JobRun, request: HubRequest, asked: dict[str, Any]) -> None:
    store, now = run.services.store, run.services.clock.now()
    found = next(
        (
            one
            for one in await store.webhooks()
            if one.format == "websub" and (one.url, one.topic) == (request.callback, request.topic)
        ),
        None,
    )
    if request.mode == "unsubscribe":
        if found is not None:
            await store.remove_webhook(found.id)
        return
    signing = () if request.secret is None else (WebhookSecret(value=request.secret),)
    until = now + timedelta(seconds=request.lease_sec)
    if found is not None:
        await store.change_webhook(
            replace(
                found,
                secrets=signing,
                expires_at=until,
                state="active",
                paused_reason=None,
                attempts=0,
                next_attempt_at=None,
            )
        )
        return
    await store.add_webhook(
        Webhook(
            id=run.services.clock.new_id(),
            url=request.callback,
            created_at=now,
            secrets=signing,
            types=TYPES,
            feed_id=asked["feed_id"],
            tag=asked["tag"],
            format="websub",
            topic=request.topic,
            expires_at=until,
        )
    )


KIND: Final = JobKind(VERIFY, verify, max_attempts=5)
