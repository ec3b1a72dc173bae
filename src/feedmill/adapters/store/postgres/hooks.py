"""Webhooks as rows: endpoints, their cursors and leases, and the batches that were given up.

Many processes look after one list: whoever changes a webhook or its cursor holds its row first.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import cleansed, storable
from feedmill.adapters.store.tables.codec import micros, micros_or_none, strings
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
    "UPDATE webhooks SET secrets = $1, types = $2, feed_id = $3, tag = $4, format = $5, state = $6,"
    " paused_reason = $7, attempts = $8, next_attempt_at = $9 WHERE id = $10 RETURNING 1"
)
# In one order, so that two that want all of them never wait for each other in a circle; the second
# looks again at each row when the first is done, and finds it taken.
_HOLD: Final = (
    "WITH free AS (SELECT id FROM webhooks WHERE state = 'active'"
    " AND (owner IS NULL OR owner = $1 OR lease_until <= $2) ORDER BY id FOR UPDATE)"
    " UPDATE webhooks w SET owner = $1, lease_until = $3 FROM free WHERE w.id = free.id"
    " RETURNING w.id"
)
_RELEASE: Final = (
    "WITH ours AS (SELECT id FROM webhooks WHERE owner = $1 ORDER BY id FOR UPDATE)"
    " UPDATE webhooks w SET owner = NULL, lease_until = NULL FROM ours WHERE w.id = ours.id"
)
# An attempt that failed before any other may be: a result, but never over a pause of somebody's.
_FARE: Final = (
    "UPDATE webhooks SET attempts = $1, next_attempt_at = $2, last_result = $3, last_status = $4,"
    " last_delivery_at = CASE WHEN $3 = 'delivered' THEN $5 ELSE last_delivery_at END WHERE id = $6"
)
_PAUSE: Final = (
    "UPDATE webhooks SET state = 'paused', paused_reason = $1 WHERE id = $2 AND state = 'active'"
)
_MOVE: Final = (
    "INSERT INTO consumer_cursors (consumer, seq) VALUES ($1, $2)"
    " ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq"
)
# The end of a feed may stand in the outbox still, while what came before it is being told.
_TAGS: Final = """
WITH ends AS (
  SELECT feed_id, data FROM events WHERE type = 'feed.removed' AND feed_id = ANY($1::text[])
   UNION ALL
  SELECT feed_id, data FROM outbox WHERE type = 'feed.removed' AND feed_id = ANY($1::text[])),
mergers AS (
  SELECT data::jsonb ->> 'from' AS lost, feed_id FROM events
   WHERE type = 'feed.merged' AND data::jsonb ->> 'from' = ANY($1::text[])
   UNION ALL
  SELECT data::jsonb ->> 'from', feed_id FROM outbox
   WHERE type = 'feed.merged' AND data::jsonb ->> 'from' = ANY($1::text[]))
SELECT 1 AS rank, id, tags FROM feeds WHERE id = ANY($1::text[])
 UNION ALL
SELECT 2, feed_id, (data::jsonb -> 'tags')::text FROM ends
 UNION ALL
SELECT 3, m.lost, f.tags FROM mergers m JOIN feeds f ON f.id = m.feed_id
 ORDER BY 1"""


async def add_webhook(connection: Connection, webhook: Webhook, after: int | None) -> None:
    """Keep a webhook; it is told what follows `after`, or what follows the last number there is."""
    await connection.execute(
        f"INSERT INTO webhooks ({NEW_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        *new_row(cleansed(webhook)),
    )
    await _move(connection, webhook.id, await _last_seq(connection) if after is None else after)


async def webhook(connection: Connection, webhook_id: str) -> Webhook | None:
    """The webhook of that id."""
    row = await connection.fetchrow(f"{WEBHOOK_SELECT} WHERE w.id = $1", storable(webhook_id))
    return None if row is None else webhook_of(tuple(row))


async def webhooks(connection: Connection) -> tuple[Webhook, ...]:
    """All of them, the oldest first."""
    rows = await connection.fetch(f"{WEBHOOK_SELECT} ORDER BY w.created_at, w.id")
    return tuple(webhook_of(tuple(row)) for row in rows)


async def change_webhook(connection: Connection, webhook: Webhook) -> bool:
    """Write what its owner decides; False when it is gone. The cursor is left alone."""
    return await connection.fetchval(_CHANGE, *owners_row(cleansed(webhook))) is not None


async def remove_webhook(connection: Connection, webhook_id: str) -> bool:
    """Forget it with its cursor and its dead letters."""
    gone = await connection.fetchval(
        "DELETE FROM webhooks WHERE id = $1 RETURNING id", storable(webhook_id)
    )
    await connection.execute(
        "DELETE FROM consumer_cursors WHERE consumer = $1", _consumer(webhook_id)
    )
    return gone is not None


async def rewind_webhook(connection: Connection, webhook_id: str, after: int) -> bool:
    """Let it be told what follows `after`, at once; False when there is no such webhook."""
    found = await connection.fetchval(
        "UPDATE webhooks SET attempts = 0, next_attempt_at = NULL WHERE id = $1 RETURNING id",
        storable(webhook_id),
    )
    if found is not None:
        await _move(connection, webhook_id, min(after, await _last_seq(connection)))
    return found is not None


async def hold_webhooks(
    connection: Connection, owner: str, now: datetime, until: datetime
) -> frozenset[str]:
    """Lease every active webhook that nobody else holds; those that are ours now."""
    rows = await connection.fetch(_HOLD, owner, micros(now), micros(until))
    return frozenset(row[0] for row in rows)


async def release_webhooks(connection: Connection, owner: str) -> None:
    """Give back what is leased."""
    await connection.execute(_RELEASE, owner)


async def settle_webhook(connection: Connection, done: Settlement) -> bool:
    """Write what an attempt came to; False when the cursor was moved meanwhile, or all is gone."""
    # The row first: a cursor that is read with it could be older than what the lock was waited for.
    await connection.execute("SELECT 1 FROM webhooks WHERE id = $1 FOR UPDATE", done.webhook_id)
    found = await webhook(connection, done.webhook_id)
    if found is None or found.cursor != done.after:
        return False
    if done.upto != done.after:
        await _move(connection, done.webhook_id, done.upto)
    if done.result is not None:
        await connection.execute(_FARE, *_fare_row(done))
    if done.pause is not None:
        await connection.execute(_PAUSE, done.pause, done.webhook_id)
    if done.letter is not None:
        await connection.execute(
            f"INSERT INTO dead_letters ({LETTER_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            *letter_row(cleansed(done.letter)),
        )
    return True


async def dead_letters(
    connection: Connection, webhook_id: str, after: str | None, limit: int
) -> Page[DeadLetter]:
    """What was given up, the oldest first."""
    rows = await connection.fetch(
        f"SELECT number, {LETTER_COLUMNS} FROM dead_letters"
        " WHERE webhook_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        storable(webhook_id),
        letter_position(after),
        limit + 1,
    )
    following = str(rows[limit - 1][0]) if len(rows) > limit else None
    return Page(items=tuple(letter_of(tuple(row[1:])) for row in rows[:limit]), next=following)


async def forget_dead_letters(connection: Connection, letter_ids: Sequence[str]) -> int:
    """Drop letters; how many there were."""
    gone = await connection.fetch(
        "DELETE FROM dead_letters WHERE id = ANY($1::text[]) RETURNING number",
        [storable(letter_id) for letter_id in letter_ids],
    )
    return len(gone)


async def feed_tags(connection: Connection, feed_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The tags of feeds, also of those that are gone; nothing for one that never was."""
    rows = await connection.fetch(_TAGS, [storable(feed_id) for feed_id in feed_ids])
    return {feed_id: strings(tags) for _, feed_id, tags in rows}


async def _last_seq(connection: Connection) -> int:
    """The last number that was given; the caller has let all be given that can."""
    return int(await connection.fetchval("SELECT seq FROM log_head"))


async def _move(connection: Connection, webhook_id: str, seq: int) -> None:
    await connection.execute(_MOVE, _consumer(webhook_id), seq)


def _consumer(webhook_id: str) -> str:
    return f"webhook:{storable(webhook_id)}"


def _fare_row(done: Settlement) -> tuple[object, ...]:
    return cleansed(
        (
            done.attempts,
            micros_or_none(done.next_attempt_at),
            done.result,
            done.status,
            micros(done.at),
            done.webhook_id,
        )
    )
