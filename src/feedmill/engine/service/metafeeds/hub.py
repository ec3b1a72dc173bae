"""The hub of our own metafeeds: takes subscription requests (WebSub §5).

A subscriber is a webhook of the format `websub`: cursor on the event log, lease of the delivering
process, retries and dead letters are those of webhooks. The verification is a background job.
"""
# Tested in tests/integration/engine/push/test_websub_hub.py

from collections.abc import Mapping
from hashlib import sha256

from feedmill.engine.jobs.websub_hub import VERIFY
from feedmill.engine.run.services import Services
from feedmill.engine.service.metafeeds.pages import topic_request
from feedmill.engine.service.webhooks import validate_webhook_url
from feedmill.errors import ConflictError, NotFoundError, UsageError
from feedmill.model.running.job import NewJob
from feedmill.push.hub import BadHubRequest, read_hub_request


async def request_subscription(form: Mapping[str, str], base: str, services: Services) -> None:
    """Queue the verification of a subscriber's intent; `base` is where our metafeeds are served."""
    config = services.config
    if not config.push.hub:
        message = "this server is no WebSub hub"
        raise ConflictError(message, reason="hub-off", hint="FEEDMILL_PUSH_HUB=true makes it one")
    found = read_hub_request(form, default_lease_sec=config.push.lease_sec)
    if isinstance(found, BadHubRequest):
        raise UsageError(found.detail)
    callback = validate_webhook_url(found.callback, config.fetch.allow_cidrs)
    wanted = topic_request(found.topic, config)
    if wanted is None or not found.topic.startswith(f"{base}{wanted.path}"):
        message = f"{found.topic[:200]!r} is not a topic of this hub"
        raise NotFoundError(message, "topics are the metafeeds of this server without a cursor")
    feeds = wanted.query.feed_ids or ()
    payload = {
        "mode": found.mode,
        "topic": found.topic,
        "callback": callback,
        "lease_sec": found.lease_sec,
        "secret": found.secret,
        "feed_id": feeds[0] if len(feeds) == 1 else None,
        "tag": wanted.query.tag,
    }
    key = sha256(f"{found.topic}\n{callback}".encode()).hexdigest()[:32]
    new = NewJob(kind=VERIFY, key=key, url=callback, payload=payload, sooner=True)
    await services.store.add_job(new, now=services.clock.now())
