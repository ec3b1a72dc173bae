"""Job kind of our WebSub hub: verify that a subscriber wants what was asked in its name (§5.3)."""
# Tested in tests/integration/engine/push/test_websub_hub.py

import secrets
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.jobs.kind import JobKind, JobRun
from feedmill.model.event import EventType
from feedmill.model.running.job import Done, Failed, JobResult, Later
from feedmill.model.running.webhook import Webhook, WebhookSecret
from feedmill.push.hub import HubRequest, is_verified, verification_url

VERIFY: Final = "hub-verify"
TYPES: Final[tuple[EventType, ...]] = ("new_entry", "entry.updated", "entry.removed")
_CHALLENGE_BYTES: Final = 24


async def verify(run: JobRun) -> JobResult:
    """Send the challenge; an echo begins, renews or ends the subscription."""
    asked = run.job.payload
    request = msgspec.convert(asked, HubRequest)
    challenge = secrets.token_urlsafe(_CHALLENGE_BYTES)
    answer = await run.fetch(verification_url(request, challenge))
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
