"""Tables `webhooks` and `dead_letters`: endpoints with their leases, and batches that were given up.

Many processes share one list: a webhook's row is locked before it or its cursor is changed.
"""
# Tested in tests/contracts/store/

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.secret_keys import seal, unseal
from feedmill.adapters.store.statements import Query, page_of, position
from feedmill.adapters.store.tables.codec import Column, RowCodec, json_column, json_text
from feedmill.adapters.store.tables.running.workers import set_cursor
from feedmill.model.event import Event
from feedmill.model.page import Page
from feedmill.model.running.webhook import DeadLetter, Settlement, Webhook, WebhookSecret

decode_secrets: Final = msgspec.json.Decoder(tuple[WebhookSecret, ...]).decode


def change_secrets(
    secrets: tuple[WebhookSecret, ...], change: Callable[[str], str]
) -> tuple[WebhookSecret, ...]:
    """The secrets of a webhook with the value of each changed."""
    return tuple(replace(secret, value=change(secret.value)) for secret in secrets)


_WEBHOOK: Final = RowCodec(
    Webhook,
    "id url created_at secrets types feed_id tag format payload state paused_reason"
    " attempts next_attempt_at last_delivery_at last_result last_status topic expires_at"
    " cursor",
    table="webhooks",
    secrets=Column(
        lambda secrets: json_text(change_secrets(secrets, seal)),
        lambda text: change_secrets(decode_secrets(text), unseal),
    ),
)
_LETTER: Final = RowCodec(
    DeadLetter,
    "id webhook_id events reason attempts died_at status detail",
    table="dead_letters",
    events=json_column(tuple[Event, ...]),
)
_SELECT: Final = (
    f"SELECT {_WEBHOOK.names('w.').replace('w.cursor', 'coalesce(c.seq, 0)')} FROM webhooks w"
    " LEFT JOIN consumer_cursors c ON c.consumer = 'webhook:' || w.id"
)
_OWNERS: Final = (
    "secrets", "types", "feed_id", "tag", "format", "payload", "state", "paused_reason", "attempts",
    "next_attempt_at", "expires_at",
)  # fmt: skip
_NEW: Final = ("id", "url", "created_at", "topic", *_OWNERS)
_CHANGE: Final = f"UPDATE webhooks SET {sql.assigned(_OWNERS)} WHERE id = ${len(_OWNERS) + 1}"
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


def add_webhook(webhook: Webhook, *, after: int | None = None) -> Query[None]:
    """Store a webhook; its first event is the one after `after`, or after the newest one."""
    kept = yield from sql.storable(webhook)
    yield from sql.write(sql.insert_into("webhooks", _NEW), *_WEBHOOK.row(kept, *_NEW))
    newest = (yield from sql.value("SELECT @last_seq")) if after is None else after
    yield from set_cursor(_consumer(webhook.id), newest)


def webhook(webhook_id: str) -> Query[Webhook | None]:
    """The webhook of that id."""
    return sql.one_of(_WEBHOOK.value, f"{_SELECT} WHERE w.id = $1", webhook_id)


def webhooks() -> Query[tuple[Webhook, ...]]:
    """All webhooks, the oldest first."""
    return sql.each_of(_WEBHOOK.value, f"{_SELECT} ORDER BY w.created_at, w.id")


def change_webhook(webhook: Webhook) -> Query[bool]:
    """Store what its owner decides; False when it is gone. The cursor is not changed."""
    kept = yield from sql.storable(webhook)
    return (yield from sql.write_one(_CHANGE, *_WEBHOOK.row(kept, *_OWNERS, "id")))


def remove_webhook(webhook_id: str) -> Query[bool]:
    """Delete a webhook with its cursor and its dead letters; False when there is none."""
    gone = yield from sql.write("DELETE FROM webhooks WHERE id = $1", webhook_id)
    yield from sql.write("DELETE FROM consumer_cursors WHERE consumer = $1", _consumer(webhook_id))
    return gone == 1


def rewind_webhook(webhook_id: str, after: int) -> Query[bool]:
    """Deliver again what follows `after`, at once; False when there is no such webhook."""
    changed = yield from sql.write(
        "UPDATE webhooks SET attempts = 0, next_attempt_at = NULL WHERE id = $1", webhook_id
    )
    if changed == 1:
        newest = yield from sql.value("SELECT @last_seq")
        yield from set_cursor(_consumer(webhook_id), min(after, newest))
    return changed == 1


def lease_webhooks(owner: str, *, now: datetime, until: datetime) -> Query[frozenset[str]]:
    """Lease every active webhook that no other process holds; the ids of all leased ones."""
    ids = yield from sql.column(_FREE, owner, now)
    yield from sql.write(
        "UPDATE webhooks SET owner = $1, lease_until = $2 WHERE id @in($3)", owner, until, ids
    )
    return frozenset(ids)


def release_webhooks(owner: str) -> Query[None]:
    """Give back what is leased."""
    yield from sql.lock("SELECT 1 FROM webhooks WHERE owner = $1 ORDER BY id FOR UPDATE", owner)
    yield from sql.write(
        "UPDATE webhooks SET owner = NULL, lease_until = NULL WHERE owner = $1", owner
    )


def settle_webhook(done: Settlement) -> Query[bool]:
    """Store the result of an attempt; False when the cursor was moved meanwhile or all is gone."""
    # The row first: a cursor that is read with it could be older than what the lock was waited for.
    yield from sql.lock("SELECT 1 FROM webhooks WHERE id = $1 FOR UPDATE", done.webhook_id)
    found = yield from webhook(done.webhook_id)
    if found is None or found.cursor != done.after:
        return False
    if done.upto != done.after:
        yield from set_cursor(_consumer(done.webhook_id), done.upto)
    if done.result is not None:
        yield from sql.write(
            _RESULT,
            done.attempts,
            done.next_attempt_at,
            done.result,
            done.status,
            done.at,
            done.webhook_id,
        )
    if done.pause is not None:
        yield from sql.write(_PAUSE, done.pause, done.webhook_id)
    if done.letter is not None:
        letter = yield from sql.storable(done.letter)
        yield from sql.write(sql.insert_into("dead_letters", _LETTER.columns), *_LETTER.row(letter))
    return True


def dead_letters(
    webhook_id: str, *, after: str | None = None, limit: int = 100
) -> Query[Page[DeadLetter]]:
    """Batches that were given up, the oldest first."""
    (last,) = position(after, 1, sign="") or (0,)
    found = yield from sql.rows(
        f"SELECT number, {_LETTER.names()} FROM dead_letters"
        " WHERE webhook_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        webhook_id,
        last,
        limit + 1,
    )
    return page_of(found, limit, lambda one: _LETTER.value(one[1:]), lambda one: f"{one[0]}")


def delete_dead_letters(letter_ids: Sequence[str]) -> Query[int]:
    """Delete dead letters; how many there were."""
    return sql.write("DELETE FROM dead_letters WHERE id @in($1)", list(letter_ids))


def _consumer(webhook_id: str) -> str:
    return f"webhook:{webhook_id}"
