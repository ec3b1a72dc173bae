"""Tables `webhooks` and `dead_letters`: endpoints with their leases, and batches that were given up.

Many processes share one list: a webhook's row is locked before it or its cursor is changed.
"""

# ruff: noqa: S608  # names come from the lists below; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from feedmill.adapters.store.statements import (
    Query,
    lock,
    row,
    rows,
    slots,
    storable,
    value,
    write,
)
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
from feedmill.adapters.store.tables.cursors import set_cursor
from feedmill.adapters.store.tables.paging import page_of, position
from feedmill.model.event import Event
from feedmill.model.page import Page
from feedmill.model.webhook import DeadLetter, Settlement, Webhook, WebhookSecret

_SELECT: Final = (
    "SELECT w.id, w.url, w.created_at, w.secrets, w.types, w.feed_id, w.tag, w.format, w.state,"
    " w.paused_reason, w.attempts, w.next_attempt_at, w.last_delivery_at, w.last_result,"
    " w.last_status, coalesce(c.seq, 0) FROM webhooks w"
    " LEFT JOIN consumer_cursors c ON c.consumer = 'webhook:' || w.id"
)
_NEW_COLUMNS: Final = (
    "id, url, created_at, secrets, types, feed_id, tag, format, state, paused_reason"
)
_CHANGE: Final = (
    "UPDATE webhooks SET secrets = $1, types = $2, feed_id = $3, tag = $4, format = $5, state = $6,"
    " paused_reason = $7, attempts = $8, next_attempt_at = $9 WHERE id = $10"
)
# The second of two that want the same looks again at each row when the first is done. In one order, so
# that they never wait for each other in a circle.
_FREE: Final = (
    "SELECT id FROM webhooks WHERE state = 'active'"
    " AND (owner IS NULL OR owner = $1 OR lease_until <= $2) ORDER BY id @lock(FOR UPDATE)"
)
# A result of an attempt never replaces a pause that was set meanwhile.
_RESULT: Final = (
    "UPDATE webhooks SET attempts = $1, next_attempt_at = $2, last_result = $3, last_status = $4,"
    " last_delivery_at = CASE WHEN $3 = 'delivered' THEN $5 ELSE last_delivery_at END WHERE id = $6"
)
_PAUSE: Final = (
    "UPDATE webhooks SET state = 'paused', paused_reason = $1 WHERE id = $2 AND state = 'active'"
)
_LETTER_COLUMNS: Final = "id, webhook_id, events, reason, attempts, died_at, status, detail"

_secrets: Final = msgspec.json.Decoder(tuple[WebhookSecret, ...]).decode
_events: Final = msgspec.json.Decoder(tuple[Event, ...]).decode


def add_webhook(webhook: Webhook, *, after: int | None = None) -> Query[None]:
    """Store a webhook; its first event is the one after `after`, or after the newest one."""
    kept = yield from storable(webhook)
    yield from write(f"INSERT INTO webhooks ({_NEW_COLUMNS}) VALUES ({slots(10)})", *_new_row(kept))
    newest = (yield from value("SELECT @last_seq")) if after is None else after
    yield from set_cursor(_consumer(webhook.id), newest)


def webhook(webhook_id: str) -> Query[Webhook | None]:
    """The webhook of that id."""
    found = yield from row(f"{_SELECT} WHERE w.id = $1", webhook_id)
    return None if found is None else _webhook_of(found)


def webhooks() -> Query[tuple[Webhook, ...]]:
    """All webhooks, the oldest first."""
    found = yield from rows(f"{_SELECT} ORDER BY w.created_at, w.id")
    return tuple(_webhook_of(one) for one in found)


def change_webhook(webhook: Webhook) -> Query[bool]:
    """Store what its owner decides; False when it is gone. The cursor is not changed."""
    kept = yield from storable(webhook)
    return (yield from write(_CHANGE, *_owners_row(kept))) == 1


def remove_webhook(webhook_id: str) -> Query[bool]:
    """Delete a webhook with its cursor and its dead letters; False when there is none."""
    gone = yield from write("DELETE FROM webhooks WHERE id = $1", webhook_id)
    yield from write("DELETE FROM consumer_cursors WHERE consumer = $1", _consumer(webhook_id))
    return gone == 1


def rewind_webhook(webhook_id: str, after: int) -> Query[bool]:
    """Deliver again what follows `after`, at once; False when there is no such webhook."""
    changed = yield from write(
        "UPDATE webhooks SET attempts = 0, next_attempt_at = NULL WHERE id = $1", webhook_id
    )
    if changed == 1:
        newest = yield from value("SELECT @last_seq")
        yield from set_cursor(_consumer(webhook_id), min(after, newest))
    return changed == 1


def hold_webhooks(owner: str, *, now: datetime, until: datetime) -> Query[frozenset[str]]:
    """Lease every active webhook that no other process holds; the ids of all leased ones."""
    free = yield from rows(_FREE, owner, micros(now))
    ids = [webhook_id for (webhook_id,) in free]
    yield from write(
        "UPDATE webhooks SET owner = $1, lease_until = $2 WHERE id @in($3)",
        owner,
        micros(until),
        ids,
    )
    return frozenset(ids)


def release_webhooks(owner: str) -> Query[None]:
    """Give back what is leased."""
    yield from lock("SELECT 1 FROM webhooks WHERE owner = $1 ORDER BY id FOR UPDATE", owner)
    yield from write("UPDATE webhooks SET owner = NULL, lease_until = NULL WHERE owner = $1", owner)


def settle_webhook(done: Settlement) -> Query[bool]:
    """Store the result of an attempt; False when the cursor was moved meanwhile or all is gone."""
    # The row first: a cursor that is read with it could be older than what the lock was waited for.
    yield from lock("SELECT 1 FROM webhooks WHERE id = $1 FOR UPDATE", done.webhook_id)
    found = yield from webhook(done.webhook_id)
    if found is None or found.cursor != done.after:
        return False
    if done.upto != done.after:
        yield from set_cursor(_consumer(done.webhook_id), done.upto)
    if done.result is not None:
        yield from write(
            _RESULT,
            done.attempts,
            micros_or_none(done.next_attempt_at),
            done.result,
            done.status,
            micros(done.at),
            done.webhook_id,
        )
    if done.pause is not None:
        yield from write(_PAUSE, done.pause, done.webhook_id)
    if done.letter is not None:
        letter = yield from storable(done.letter)
        yield from write(
            f"INSERT INTO dead_letters ({_LETTER_COLUMNS}) VALUES ({slots(8)})",
            *_letter_row(letter),
        )
    return True


def dead_letters(
    webhook_id: str, *, after: str | None = None, limit: int = 100
) -> Query[Page[DeadLetter]]:
    """Batches that were given up, the oldest first."""
    (last,) = position(after, 1) or (0,)
    found = yield from rows(
        f"SELECT number, {_LETTER_COLUMNS} FROM dead_letters"
        " WHERE webhook_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        webhook_id,
        last,
        limit + 1,
    )
    return page_of(found, limit, lambda one: _letter_of(one[1:]), lambda one: f"{one[0]}")


def forget_dead_letters(letter_ids: Sequence[str]) -> Query[int]:
    """Delete dead letters; how many there were."""
    return (yield from write("DELETE FROM dead_letters WHERE id @in($1)", list(letter_ids)))


def _consumer(webhook_id: str) -> str:
    return f"webhook:{webhook_id}"


def _new_row(webhook: Webhook) -> Row:
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


def _owners_row(webhook: Webhook) -> Row:
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


def _webhook_of(row: Row) -> Webhook:
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


def _letter_row(letter: DeadLetter) -> Row:
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


def _letter_of(row: Row) -> DeadLetter:
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
