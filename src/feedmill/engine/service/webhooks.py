"""Webhook administration: add, pause, resume, replay, rotate the secret, test, resend dead letters.

Delivery is in deliver/to_webhooks.py. A webhook's secret is made here and shown once; the store
has to keep it, because every delivery is signed with it.
"""
# Tested in tests/integration/engine/deliver/test_to_webhooks.py

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, get_args

from msgspec.structs import replace

from feedmill.canonicalise.urls import join_url, split_url
from feedmill.engine.deliver.webhook_request import batch_of, send_batch
from feedmill.engine.ports.entries import WebhookStore
from feedmill.engine.ports.io import Clock
from feedmill.engine.run.services import Services, each_page
from feedmill.engine.service.queries import check_position
from feedmill.engine.subscribe.add_feed import refusal
from feedmill.errors import AddressError, NotFoundError, UsageError, required
from feedmill.fetch.guard import check_url, printable_url
from feedmill.model.base import Value
from feedmill.model.event import Event, EventType
from feedmill.model.fetch import Refused
from feedmill.model.running.webhook import (
    Delivery,
    EventFormat,
    EventPayload,
    Webhook,
    WebhookSecret,
)
from feedmill.publish.webhook_delivery import Batch, Undelivered

WEBHOOK_SECRET_PREFIX: Final = "fmwh_"  # noqa: S105  # what a secret begins with

MAX_WEBHOOKS: Final = 1_000
_LETTERS_PER_PAGE: Final = 20


class Resent(Value):
    """Dead letters sent again: how many were delivered, how many are left, and why one failed."""

    sent: int
    left: int
    reason: str | None = None


async def add_webhook(
    url: str,
    services: Services,
    *,
    types: Sequence[str] = (),
    feed_id: str | None = None,
    tag: str | None = None,
    form: EventFormat = "plain",
    payload: EventPayload = "compact",
    from_seq: int | None = None,
) -> Webhook:
    """Deliver events to an endpoint from now on, or from an event on; its secret is `secrets[0].value`.

    ConflictError for an event that the log has not reached: all events up to it would be left out in silence.
    AddressError for an address that the egress guard refuses. What its name resolves to is
    checked at each delivery, on the address that is dialled.
    """
    checked = validate_webhook_url(url, services.config.fetch.allow_cidrs)
    own = [one for one in await services.store.webhooks() if one.topic is None]
    if len(own) >= MAX_WEBHOOKS:
        message = f"there are {MAX_WEBHOOKS} webhooks already; remove one first"
        raise UsageError(message)
    if feed_id is not None:
        feed = await services.store.feed(feed_id)
        required(feed, f"there is no feed {feed_id!r}", "`feedmill list` shows all of them")
    webhook = Webhook(
        id=services.clock.new_id(),
        url=checked,
        created_at=services.clock.now(),
        secrets=(_new_secret(services.clock),),
        types=_checked_types(types),
        feed_id=feed_id,
        tag=tag,
        format=form,
        payload=payload,
    )
    after = None if from_seq is None else await _before(from_seq, services)
    await services.store.add_webhook(webhook, after=after)
    return await load_webhook(webhook.id, services.store)


def validate_webhook_url(url: str, allow_cidrs: Sequence[str] = ()) -> str:
    """The URL as it will be dialled; AddressError for one that must not be."""
    verdict = check_url(url.strip(), allow_cidrs=allow_cidrs)
    if isinstance(verdict, Refused):
        raise refusal(url, verdict, "webhook URL")
    parts = split_url(verdict.url)
    if parts.userinfo:
        message = f"invalid webhook URL {printable_url(url)!r}: it contains credentials"
        hint = "URLs are shown in lists; verify the signature instead, every delivery has one"
        raise AddressError(message, reason="credentials", hint=hint)
    return join_url(replace(parts, fragment=None))


async def load_webhook(webhook_id: str, store: WebhookStore) -> Webhook:
    """The webhook of that id; NotFoundError when there is none."""
    webhook = await store.webhook(webhook_id)
    if webhook is None:
        raise _unknown(webhook_id)
    return webhook


async def remove_webhook(webhook_id: str, store: WebhookStore) -> None:
    """Remove an endpoint with its cursor and its dead letters."""
    if not await store.remove_webhook(webhook_id):
        raise _unknown(webhook_id)


async def pause_webhook(webhook_id: str, store: WebhookStore) -> Webhook:
    """Pause deliveries; the cursor stays."""
    webhook = await load_webhook(webhook_id, store)
    if webhook.state == "paused":
        return webhook
    return await _change(replace(webhook, state="paused", paused_reason="by-hand"), store)


async def resume_webhook(webhook_id: str, store: WebhookStore) -> Webhook:
    """Resume deliveries at once from the cursor, whatever paused them or made them wait."""
    webhook = await load_webhook(webhook_id, store)
    awake = replace(webhook, state="active", paused_reason=None, attempts=0, next_attempt_at=None)
    return await _change(awake, store)


async def replay_webhook(webhook_id: str, from_seq: int, services: Services) -> Webhook:
    """Deliver again from this event on, as far as the log still has it; ConflictError beyond its end."""
    if not await services.store.rewind_webhook(webhook_id, await _before(from_seq, services)):
        raise _unknown(webhook_id)
    return await load_webhook(webhook_id, services.store)


async def rotate_webhook_secret(
    webhook_id: str, overlap: timedelta, store: WebhookStore, clock: Clock
) -> Webhook:
    """Sign with a new secret, and until the overlap ends with the one before as well."""
    if overlap < timedelta(0):
        message = "an overlap cannot be negative"
        raise UsageError(message)
    webhook = await load_webhook(webhook_id, store)
    before = replace(webhook.secrets[0], valid_until=clock.now() + overlap)
    return await _change(replace(webhook, secrets=(_new_secret(clock), before)), store)


async def send_test_delivery(webhook_id: str, services: Services) -> Delivery:
    """Send an empty, signed batch; cursor and state stay as they are."""
    webhook = await load_webhook(webhook_id, services.store)
    batch = await _batch(webhook, (), services)
    return (await send_batch(webhook, batch, services)).delivery


async def _batch(webhook: Webhook, events: Sequence[Event], services: Services) -> Batch:
    batch = await batch_of(webhook, events, services)
    message = f"the topic of {webhook.id} is not served any more"
    return required(batch, message, "remove it: feedmill webhook remove")


async def resend_dead_letters(webhook_id: str, services: Services) -> Resent:
    """Send the dead letters again, the oldest first, until one fails."""
    webhook = await load_webhook(webhook_id, services.store)
    sent, read = 0, services.store.dead_letters
    while letters := (await read(webhook_id, limit=_LETTERS_PER_PAGE)).items:
        for letter in letters:
            batch = await _batch(webhook, letter.events, services)
            done = await send_batch(webhook, batch, services)
            if isinstance(done.verdict, Undelivered):
                left = await _count_letters(webhook_id, services.store)
                return Resent(sent=sent, left=left, reason=done.verdict.reason)
            await services.store.delete_dead_letters([letter.id])
            sent += 1
    return Resent(sent=sent, left=0)


async def _change(webhook: Webhook, store: WebhookStore) -> Webhook:
    if not await store.change_webhook(webhook):
        raise _unknown(webhook.id)
    return webhook


async def _count_letters(webhook_id: str, store: WebhookStore) -> int:
    read = store.dead_letters
    letters = each_page(lambda after: read(webhook_id, after=after, limit=_LETTERS_PER_PAGE))
    return sum([len(page.items) async for page in letters])


def _new_secret(clock: Clock) -> WebhookSecret:
    return WebhookSecret(value=WEBHOOK_SECRET_PREFIX + clock.new_secret())


def _checked_types(types: Sequence[str]) -> tuple[EventType, ...]:
    known: tuple[EventType, ...] = get_args(EventType)
    unknown = sorted(set(types) - set(known))
    if unknown:
        message = f"unknown event type {', '.join(unknown)}; known are: {', '.join(known)}"
        raise UsageError(message)
    return tuple(kind for kind in known if kind in types)


async def _before(from_seq: int, services: Services) -> int:
    """The cursor of a reader that begins with this event, which may be the next one of the log."""
    if from_seq < 1:
        message = "events are numbered from 1"
        raise UsageError(message)
    await check_position(services, from_seq - 1, whole=False)
    return from_seq - 1


def _unknown(webhook_id: str) -> NotFoundError:
    return NotFoundError(f"there is no webhook {webhook_id!r}", "`feedmill webhook list` shows all")
