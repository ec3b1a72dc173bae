"""Sends one batch to one webhook, and decides what the answer changes: cursor, retry, dead letter."""
# Tested in tests/integration/engine/deliver/

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from feedmill.canonicalise.urls import split_url
from feedmill.engine.deliver.read_log import with_entries, without_entry
from feedmill.engine.run.services import Services
from feedmill.fetch.headers import is_sendable, retry_after_sec
from feedmill.model.event import Event
from feedmill.model.fetch import FetchLimits, Post
from feedmill.model.running.webhook import DeadLetter, Delivery, Settlement, Webhook
from feedmill.observe.traces import Facts, Parent, read_traceparent, traceparent_of
from feedmill.publish.cloudevents import TRACEPARENT
from feedmill.publish.webhook_delivery import (
    Batch,
    Delivered,
    Undelivered,
    backoff_sec,
    delivery_headers,
    delivery_id,
    exact_batch,
    judge_delivery,
)
from feedmill.push import hub

_ANSWER_BYTES: Final = 65_536  # of an answer; more is not read
_SECOND: Final = timedelta(seconds=1)


class DeliveryAttempt(NamedTuple):
    """One attempt: its verdict, its record, and the wait that the answer asked for."""

    verdict: Delivered | Undelivered
    delivery: Delivery
    retry_after_sec: float | None


async def send_batch(
    webhook: Webhook, batch: Batch, services: Services, *, send_before: float | None = None
) -> DeliveryAttempt:
    """One attempt to deliver a batch; nothing is stored. NotSentError when it has not left by `send_before`.

    A batch with events of a traced poll carries on the trace of the first, linked to the others.
    """
    parents = {one: None for event in batch.events if (one := _parent_of(event))}
    if not parents:
        return await _send(webhook, batch, services, None, send_before)
    if services.traces is None:
        first = next(iter(parents))
        return await _send(webhook, batch, services, traceparent_of(first), send_before)
    with services.traces.join("deliver", tuple(parents)) as trace:
        trace.requested()
        sent = await _send(webhook, batch, services, trace.traceparent, send_before)
        trace.describe(_delivery_facts, sent.delivery)
        if isinstance(sent.verdict, Undelivered):
            trace.fail(sent.verdict.reason)
        return sent


async def _send(
    webhook: Webhook,
    batch: Batch,
    services: Services,
    traceparent: str | None,
    send_before: float | None,
) -> DeliveryAttempt:
    now = services.clock.now()
    agent = services.config.fetch.user_agent
    agent = agent if is_sendable(agent) else "feedmill"
    if (content := batch.content) is None:
        headers = delivery_headers(
            webhook, batch, user_agent=agent, now=now, traceparent=traceparent
        )
    else:
        secret = webhook.secrets[0].value if webhook.secrets else None
        topic = hub.delivery_headers(content.content_type, content.links, batch.body, secret)
        headers = (("User-Agent", agent), ("Accept", "*/*"), *topic)
    response = await services.fetcher.post(
        Post(
            url=webhook.url,
            headers=headers,
            body=batch.body,
            limits=_limits(services),
            send_before=send_before,
        )
    )
    verdict = judge_delivery(response)
    asked = retry_after_sec(response.status or 0, response.headers, services.clock.now())
    delivery = Delivery(
        webhook_id=webhook.id,
        host=split_url(webhook.url).host,
        delivery_id=delivery_id(webhook.id, batch.events),
        events=len(batch.events),
        last_seq=batch.upto,
        result=verdict.reason if isinstance(verdict, Undelivered) else "delivered",
        status=response.status,
        detail=verdict.detail if isinstance(verdict, Undelivered) else "",
    )
    return DeliveryAttempt(verdict, delivery, asked)


def _delivery_facts(delivery: Delivery) -> Facts:
    return {
        "feedmill.webhook_id": delivery.webhook_id,
        "server.address": delivery.host,
        "feedmill.result": delivery.result,
        "feedmill.events": delivery.events,
        "http.response.status_code": delivery.status,
    }


def _parent_of(event: Event) -> Parent | None:
    return read_traceparent(event.data.get(TRACEPARENT))


async def batch_of(webhook: Webhook, events: Sequence[Event], services: Services) -> Batch | None:
    """Exactly these events; for a subscriber of our hub the present content of its topic.

    None when the topic is none any more, or this process does not render topics.
    """
    if webhook.format != "websub":
        if webhook.payload == "full":
            max_bytes = services.config.webhook.batch_bytes
            events = await with_entries(events, services.store, max_bytes)
        return exact_batch(events, webhook.format, source=services.config.store.event_source)
    if services.render_topic is None or webhook.topic is None:
        return None
    content = await services.render_topic(webhook.topic, services)
    if content is None:
        return None
    upto = events[-1].seq if events else 0
    return Batch(events=tuple(events), body=content.body, upto=upto, content=content)


def settlement_of(
    webhook: Webhook, batch: Batch, sent: DeliveryAttempt, services: Services
) -> tuple[Settlement, float]:
    """What an attempt changes: the cursor after success, the wait after failure, or a dead letter."""
    now, config, verdict = services.clock.now(), services.config.webhook, sent.verdict
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
    wait_sec = 0.0 if gone or buried else _wait_sec(webhook, attempts, sent, services)
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
        letter=_letter(webhook, batch, verdict, attempts, services) if buried else None,
    )
    return failed, wait_sec


def _letter(
    webhook: Webhook, batch: Batch, verdict: Undelivered, attempts: int, services: Services
) -> DeadLetter:
    return DeadLetter(
        id=services.clock.new_id(),
        webhook_id=webhook.id,
        events=tuple(map(without_entry, batch.events)),
        reason=verdict.reason,
        attempts=attempts,
        died_at=services.clock.now(),
        status=verdict.status,
        detail=verdict.detail,
    )


def _wait_sec(webhook: Webhook, attempts: int, sent: DeliveryAttempt, services: Services) -> float:
    """The backoff, or what the endpoint asked for where that is longer."""
    config = services.config.webhook
    own = backoff_sec(
        webhook.id,
        webhook.cursor,
        attempts,
        base_sec=config.backoff_base_sec,
        cap_sec=config.backoff_cap_sec,
    )
    return max(own, min(sent.retry_after_sec or 0.0, config.retry_after_max_sec))


def _limits(services: Services) -> FetchLimits:
    return FetchLimits(
        timeout_ms=services.config.webhook.timeout_ms,
        max_body_bytes=_ANSWER_BYTES,
        max_wire_bytes=_ANSWER_BYTES,
        max_header_bytes=services.config.fetch.max_header_bytes,
        min_throughput_window_sec=services.config.fetch.min_throughput_window_sec,
    )
