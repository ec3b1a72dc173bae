"""Webhooks as rows: endpoints, their cursors and leases, and the batches that were given up."""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.sqlite.event_log import last_seq
from feedmill.adapters.store.tables.codec import json_text, micros, micros_or_none, strings
from feedmill.adapters.store.tables.webhooks import (
    LETTER_COLUMNS,
    NEW_COLUMNS,
    WEBHOOK_SELECT,
    letter_of,
    letter_position,
    letter_row,
    new_row,
    owners_row,
    webhook_of,
)
from feedmill.model.page import Page
from feedmill.model.webhook import DeadLetter, Settlement, Webhook

_CHANGE: Final = (
    "UPDATE webhooks SET secrets = ?, types = ?, feed_id = ?, tag = ?, format = ?, state = ?,"
    " paused_reason = ?, attempts = ?, next_attempt_at = ? WHERE id = ?"
)
_HOLD: Final = (
    "UPDATE webhooks SET owner = :owner, lease_until = :until WHERE state = 'active'"
    " AND (owner IS NULL OR owner = :owner OR lease_until <= :now) RETURNING id"
)
# An attempt that failed before any other may be: a result, but never over a pause of somebody's.
_FARE: Final = (
    "UPDATE webhooks SET attempts = ?, next_attempt_at = ?, last_result = ?, last_status = ?,"
    " last_delivery_at = CASE ? WHEN 'delivered' THEN ? ELSE last_delivery_at END WHERE id = ?"
)
_PAUSE: Final = (
    "UPDATE webhooks SET state = 'paused', paused_reason = ? WHERE id = ? AND state = 'active'"
)
_TAGS: Final = (
    "SELECT id, tags FROM feeds WHERE id IN (SELECT value FROM json_each(:ids))"
    " UNION ALL SELECT feed_id, json_extract(data, '$.tags') FROM outbox"
    " WHERE type = 'feed.removed' AND feed_id IN (SELECT value FROM json_each(:ids))"
    " UNION ALL SELECT json_extract(o.data, '$.from'), f.tags FROM outbox o"
    " JOIN feeds f ON f.id = o.feed_id WHERE o.type = 'feed.merged'"
    " AND json_extract(o.data, '$.from') IN (SELECT value FROM json_each(:ids))"
)


def add_webhook(connection: sqlite3.Connection, webhook: Webhook, after: int | None) -> None:
    """Keep a webhook; it is told what follows `after`, or what follows now."""
    connection.execute(
        f"INSERT INTO webhooks ({NEW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new_row(webhook),
    )
    _move(connection, webhook.id, last_seq(connection) if after is None else after)


def webhook(connection: sqlite3.Connection, webhook_id: str) -> Webhook | None:
    """The webhook of that id."""
    row = connection.execute(f"{WEBHOOK_SELECT} WHERE w.id = ?", (webhook_id,)).fetchone()
    return None if row is None else webhook_of(row)


def webhooks(connection: sqlite3.Connection) -> tuple[Webhook, ...]:
    """All of them, the oldest first."""
    rows = connection.execute(f"{WEBHOOK_SELECT} ORDER BY w.created_at, w.id")
    return tuple(webhook_of(row) for row in rows)


def change_webhook(connection: sqlite3.Connection, webhook: Webhook) -> bool:
    """Write what its owner decides; False when it is gone. The cursor is left alone."""
    return connection.execute(_CHANGE, owners_row(webhook)).rowcount == 1


def remove_webhook(connection: sqlite3.Connection, webhook_id: str) -> bool:
    """Forget it with its cursor and its dead letters."""
    connection.execute(
        "DELETE FROM consumer_cursors WHERE consumer = ?", (f"webhook:{webhook_id}",)
    )
    return connection.execute("DELETE FROM webhooks WHERE id = ?", (webhook_id,)).rowcount == 1


def rewind_webhook(connection: sqlite3.Connection, webhook_id: str, after: int) -> bool:
    """Let it be told what follows `after`, at once; False when there is no such webhook."""
    done = connection.execute(
        "UPDATE webhooks SET attempts = 0, next_attempt_at = NULL WHERE id = ?", (webhook_id,)
    )
    if done.rowcount == 1:
        _move(connection, webhook_id, min(after, last_seq(connection)))
    return done.rowcount == 1


def hold_webhooks(
    connection: sqlite3.Connection, owner: str, now: datetime, until: datetime
) -> frozenset[str]:
    """Lease every active webhook that nobody else holds; those that are ours now."""
    given = {"owner": owner, "now": micros(now), "until": micros(until)}
    return frozenset(webhook_id for (webhook_id,) in connection.execute(_HOLD, given).fetchall())


def release_webhooks(connection: sqlite3.Connection, owner: str) -> None:
    """Give back what is leased."""
    connection.execute(
        "UPDATE webhooks SET owner = NULL, lease_until = NULL WHERE owner = ?", (owner,)
    )


def settle_webhook(connection: sqlite3.Connection, done: Settlement) -> bool:
    """Write what an attempt came to; False when the cursor was moved meanwhile, or all is gone."""
    found = webhook(connection, done.webhook_id)
    if found is None or found.cursor != done.after:
        return False
    if done.upto != done.after:
        _move(connection, done.webhook_id, done.upto)
    if done.result is not None:
        fare = (
            done.attempts,
            micros_or_none(done.next_attempt_at),
            done.result,
            done.status,
            done.result,
            micros(done.at),
            done.webhook_id,
        )
        connection.execute(_FARE, fare)
    if done.pause is not None:
        connection.execute(_PAUSE, (done.pause, done.webhook_id))
    if done.letter is not None:
        _bury(connection, done.letter)
    return True


def dead_letters(
    connection: sqlite3.Connection, webhook_id: str, after: str | None, limit: int
) -> Page[DeadLetter]:
    """What was given up, the oldest first."""
    rows = connection.execute(
        f"SELECT number, {LETTER_COLUMNS} FROM dead_letters"
        " WHERE webhook_id = ? AND number > ? ORDER BY number LIMIT ?",
        (webhook_id, letter_position(after), limit + 1),
    ).fetchall()
    following = str(rows[limit - 1][0]) if len(rows) > limit else None
    return Page(items=tuple(letter_of(row[1:]) for row in rows[:limit]), next=following)


def forget_dead_letters(connection: sqlite3.Connection, letter_ids: Sequence[str]) -> int:
    """Drop letters; how many there were."""
    rows = [(letter_id,) for letter_id in letter_ids]
    return connection.executemany("DELETE FROM dead_letters WHERE id = ?", rows).rowcount


def feed_tags(
    connection: sqlite3.Connection, feed_ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The tags of feeds, also of those that are gone; nothing for one that never was."""
    rows = connection.execute(_TAGS, {"ids": json_text(list(feed_ids))})
    return {feed_id: strings(tags) for feed_id, tags in rows}


def _move(connection: sqlite3.Connection, webhook_id: str, seq: int) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO consumer_cursors VALUES (?, ?)", (f"webhook:{webhook_id}", seq)
    )


def _bury(connection: sqlite3.Connection, letter: DeadLetter) -> None:
    connection.execute(
        f"INSERT INTO dead_letters ({LETTER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        letter_row(letter),
    )
