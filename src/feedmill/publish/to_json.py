"""JSON of stored values, the same for REST, gRPC, NDJSON and the command line, and the cursors of pages (002 §5).

Values are plain builtins; instants are RFC 3339 in UTC. No credential ever gets here: overrides
are shown by what they change, not by what they hold.

Pagination cursors: opaque, and valid for one list only.

A cursor holds the position of the last item that was shown, the list that it belongs to and a
check sum. It is no secret and gives nothing away that the items do not say themselves; a cursor
of another list, a cut one or a made-up one is refused before the store sees it.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import msgspec

from feedmill.config import MovesConfig, ScheduleConfig
from feedmill.errors import CursorError
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value
from feedmill.model.event import Revision, StoredEntry
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.running.webhook import DeadLetter, Token, Webhook
from feedmill.model.schedule import Decision
from feedmill.publish.move_shapes import DEFAULT_MOVES
from feedmill.publish.to_shapes import decision_shape, feed_shape, fetch_shape

_MOST_CHARS = 4_000  # far above any position; what is longer is not even decoded


def feed_wire(
    feed: Feed, config: ScheduleConfig, moves: MovesConfig = DEFAULT_MOVES
) -> dict[str, Any]:
    """A feed as 002 §5.1 writes it, with what we know beyond it."""
    return _plain(feed_shape(feed, config, moves))


def entry_wire(entry: StoredEntry) -> dict[str, Any]:
    """An entry as 002 §5.2 writes it."""
    shape: dict[str, Any] = msgspec.to_builtins(entry)
    return shape


def revision_wire(revision: Revision) -> dict[str, Any]:
    """An earlier state of an entry."""
    shape: dict[str, Any] = msgspec.to_builtins(revision)
    return shape


def fetch_wire(fetch: FetchRecord, raw_url: str | None = None) -> dict[str, Any]:
    """A fetch as 002 §5.3 writes it; headers stay a list of pairs, in order, duplicates kept."""
    shape: dict[str, Any] = msgspec.to_builtins(fetch_shape(fetch, raw_url))
    return shape


def refresh_wire(feed: Feed, fetch: FetchRecord) -> dict[str, Any]:
    """One refresh in short: what came, when the next one is due and why."""
    return {
        "fetch_id": fetch.fetch_id,
        "feed_id": feed.id,
        "url": mask_address(feed.url),
        "title": feed.title,
        "fetched_at": format_instant(fetch.fetched_at),
        "outcome": fetch.outcome,
        "http_status": fetch.http_status,
        "detail": fetch.detail,
        "entries_new": fetch.entries_new,
        "entries_updated": fetch.entries_updated,
        "repairs": list(fetch.repairs),
        "health": feed.schedule.health,
        "reason": feed.reason,
        "interval_sec": round(feed.schedule.interval_sec),
        "next_poll_at": format_instant(feed.next_poll_at),
    }


def decision_wire(decision: Decision, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """A schedule decision with its chain of reasons."""
    return _plain(decision_shape(decision, words))


def token_wire(token: Token) -> dict[str, Any]:
    """A token without its secret, which is not stored."""
    return _plain(token)


def webhook_wire(webhook: Webhook) -> dict[str, Any]:
    """A webhook without its secrets: only how many are valid, and until when."""
    shape = _plain(webhook)
    for of_subscribers in ("topic", "expires_at"):
        del shape[of_subscribers]
    until = [{"valid_until": one["valid_until"]} for one in shape.pop("secrets")]
    return {**shape, "url": mask_address(webhook.url), "secrets": until}


def dead_letter_wire(letter: DeadLetter) -> dict[str, Any]:
    """A batch that was given up, with its events."""
    return {**_plain(letter), "detail": letter.detail or None}


def format_instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, ending in Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _plain(shape: Value) -> dict[str, Any]:
    """The shape as a JSON reader sees it."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shape))
    return plain


def write_cursor(kind: str, position: str | None) -> str | None:
    """The position of a list as an opaque word; None at the end of the list."""
    if position is None:
        return None
    plain = f"{kind}:{position}".encode()
    whole = crc32(plain).to_bytes(4, "big") + plain
    return urlsafe_b64encode(whole).rstrip(b"=").decode()


def read_cursor(kind: str, cursor: str | None) -> str | None:
    """The position that `write_cursor` was given; CursorError when it gave no such word."""
    if cursor is None:
        return None
    if len(cursor) > _MOST_CHARS or not cursor.isascii():
        raise CursorError(cursor)
    try:
        whole = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (binascii.Error, ValueError):
        raise CursorError(cursor) from None
    plain = whole[4:]
    found, _, position = plain.decode("ascii", "replace").partition(":")
    if found != kind or write_cursor(kind, position) != cursor:
        raise CursorError(cursor)
    return position
