"""Handing one batch to one webhook: the request, what came of it, and what that changes."""

from datetime import timedelta
from typing import Final, NamedTuple

from feedmill.canonicalise.urls import split
from feedmill.engine.run.services import World
from feedmill.fetch.headers import is_sendable
from feedmill.fetch.retry_after import retry_after_sec
from feedmill.model.fetch import FetchLimits, Post
from feedmill.model.webhook import DeadLetter, Delivery, Settlement, Webhook
from feedmill.publish.webhook_delivery import (
    Batch,
    Delivered,
    Undelivered,
    backoff_sec,
    delivery_headers,
    delivery_id,
    judge_delivery,
)

_ANSWER_BYTES: Final = 65_536  # nobody reads more of what an endpoint says
_SECOND: Final = timedelta(seconds=1)


class Sent(NamedTuple):
    """One attempt: what it came to, what is told of it, and the wait that the answer asked for."""

    verdict: Delivered | Undelivered
    told: Delivery
    retry_after_sec: float | None


async def send(webhook: Webhook, batch: Batch, world: World) -> Sent:
    """One attempt to hand over a batch; nothing is remembered of it."""
    now = world.clock.now()
    agent = world.config.fetch.user_agent
    headers = delivery_headers(
        webhook, batch, user_agent=agent if is_sendable(agent) else "feedmill", now=now
    )
    post = Post(url=webhook.url, headers=headers, body=batch.body, limits=_limits(world))
    response = await world.fetcher.post(post)
    verdict = judge_delivery(response)
    asked = retry_after_sec(response.status or 0, response.headers, world.clock.now())
    told = Delivery(
        webhook_id=webhook.id,
        host=split(webhook.url).host,
        delivery_id=delivery_id(webhook.id, batch.events),
        events=len(batch.events),
        last_seq=batch.upto,
        result=verdict.reason if isinstance(verdict, Undelivered) else "delivered",
        status=response.status,
        detail=verdict.detail if isinstance(verdict, Undelivered) else "",
    )
    return Sent(verdict, told, asked)


def settled(webhook: Webhook, batch: Batch, sent: Sent, world: World) -> tuple[Settlement, float]:
    """What an attempt changes: the cursor after success, the wait after failure, or a dead letter."""
    now, config, verdict = world.clock.now(), world.config.webhook, sent.verdict
    if isinstance(verdict, Delivered):
        done = Settlement(
            webhook_id=webhook.id,
            after=webhook.cursor,
            upto=batch.upto,
            at=now,
            result="delivered",
            status=verdict.status,
        )
        return done, 0.0
    attempts = webhook.attempts + 1
    gone = verdict.reason == "gone"
    buried = not gone and attempts >= config.max_attempts
    wait_sec = 0.0 if gone or buried else _wait_sec(webhook, attempts, sent, world)
    failed = Settlement(
        webhook_id=webhook.id,
        after=webhook.cursor,
        upto=batch.upto if buried else webhook.cursor,
        at=now,
        result=verdict.reason,
        status=verdict.status,
        attempts=0 if gone or buried else attempts,
        next_attempt_at=None if gone or buried else now + wait_sec * _SECOND,
        pause="gone" if gone else None,
        letter=_letter(webhook, batch, verdict, attempts, world) if buried else None,
    )
    return failed, wait_sec


def _letter(
    webhook: Webhook, batch: Batch, verdict: Undelivered, attempts: int, world: World
) -> DeadLetter:
    return DeadLetter(
        id=world.clock.new_id(),
        webhook_id=webhook.id,
        events=batch.events,
        reason=verdict.reason,
        attempts=attempts,
        died_at=world.clock.now(),
        status=verdict.status,
        detail=verdict.detail,
    )


def _wait_sec(webhook: Webhook, attempts: int, sent: Sent, world: World) -> float:
    """The backoff, or what the endpoint asked for where that is longer."""
    config = world.config.webhook
    own = backoff_sec(
        webhook.id,
        webhook.cursor,
        attempts,
        base_sec=config.backoff_base_sec,
        cap_sec=config.backoff_cap_sec,
    )
    return max(own, min(sent.retry_after_sec or 0.0, config.retry_after_max_sec))


def _limits(world: World) -> FetchLimits:
    return FetchLimits(
        timeout_ms=world.config.webhook.timeout_ms,
        max_redirects=0,
        max_body_bytes=_ANSWER_BYTES,
        max_wire_bytes=_ANSWER_BYTES,
        max_header_bytes=world.config.fetch.max_header_bytes,
        min_bytes_per_sec=0,
        min_throughput_window_sec=world.config.fetch.min_throughput_window_sec,
    )
