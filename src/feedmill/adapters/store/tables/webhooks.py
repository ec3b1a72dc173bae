"""Webhooks and their dead letters as rows and back."""

# ruff: noqa: S608  # names come from the lists below; values are parameters

from typing import Any, Final

import msgspec

from feedmill.adapters.store.tables.codec import (
    Row,
    instant,
    instant_or_none,
    json_or_null,
    json_text,
    micros,
    micros_or_none,
    strings,
)
from feedmill.errors import UsageError
from feedmill.model.event import Event
from feedmill.model.webhook import DeadLetter, Webhook, WebhookSecret

CONSUMER: Final = "'webhook:' || w.id"  # whose cursor a webhook's is
WEBHOOK_SELECT: Final = (
    "SELECT w.id, w.url, w.created_at, w.secrets, w.types, w.feed_id, w.tag, w.format, w.state,"
    " w.paused_reason, w.attempts, w.next_attempt_at, w.last_delivery_at, w.last_result,"
    " w.last_status, coalesce(c.seq, 0) FROM webhooks w"
    f" LEFT JOIN consumer_cursors c ON c.consumer = {CONSUMER}"
)
NEW_COLUMNS: Final = (
    "id, url, created_at, secrets, types, feed_id, tag, format, state, paused_reason"
)
LETTER_COLUMNS: Final = "id, webhook_id, events, reason, attempts, died_at, status, detail"

_secrets: Final = msgspec.json.Decoder(tuple[WebhookSecret, ...]).decode
_events: Final = msgspec.json.Decoder(tuple[Event, ...]).decode


def new_row(webhook: Webhook) -> Row:
    """The NEW_COLUMNS of a webhook."""
    return (
        webhook.id,
        webhook.url,
        micros(webhook.created_at),
        json_text(webhook.secrets),
        json_or_null(webhook.types),
        webhook.feed_id,
        webhook.tag,
        webhook.format,
        webhook.state,
        webhook.paused_reason,
    )


def owners_row(webhook: Webhook) -> Row:
    """What its owner decides: secrets, types, feed_id, tag, format, state, paused_reason, attempts,
    next_attempt_at; and its id.
    """
    return (
        json_text(webhook.secrets),
        json_or_null(webhook.types),
        webhook.feed_id,
        webhook.tag,
        webhook.format,
        webhook.state,
        webhook.paused_reason,
        webhook.attempts,
        micros_or_none(webhook.next_attempt_at),
        webhook.id,
    )


def webhook_of(row: Row) -> Webhook:
    """The webhook of a row of WEBHOOK_SELECT."""
    (
        webhook_id, url, created_at, secrets, types, feed_id, tag, form, state, paused_reason,
        attempts, next_attempt_at, last_delivery_at, last_result, last_status, cursor,
    ) = row  # fmt: skip
    kinds: Any = strings(types)
    return Webhook(
        id=webhook_id,
        url=url,
        created_at=instant(created_at),
        secrets=_secrets(secrets),
        types=kinds,
        feed_id=feed_id,
        tag=tag,
        format=form,
        state=state,
        paused_reason=paused_reason,
        cursor=cursor,
        attempts=attempts,
        next_attempt_at=instant_or_none(next_attempt_at),
        last_delivery_at=instant_or_none(last_delivery_at),
        last_result=last_result,
        last_status=last_status,
    )


def letter_row(letter: DeadLetter) -> Row:
    """The LETTER_COLUMNS of a dead letter."""
    return (
        letter.id,
        letter.webhook_id,
        json_text(letter.events),
        letter.reason,
        letter.attempts,
        micros(letter.died_at),
        letter.status,
        letter.detail,
    )


def letter_of(row: Row) -> DeadLetter:
    """The dead letter of a row of LETTER_COLUMNS."""
    letter_id, webhook_id, events, reason, attempts, died_at, status, detail = row
    return DeadLetter(
        id=letter_id,
        webhook_id=webhook_id,
        events=_events(events),
        reason=reason,
        attempts=attempts,
        died_at=instant(died_at),
        status=status,
        detail=detail,
    )


def letter_position(cursor: str | None) -> int:
    """The number of the letter that a page follows."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        message = f"{cursor!r} is no cursor of this list; take the one that the last page gave"
        raise UsageError(message)
    return int(cursor)
