"""Tables `standing_screens`, `held_entries` and `collected_documents`: what is not an entry yet (001)."""

# ruff: noqa: S608  # names come from the lists below; values are parameters

from collections.abc import Sequence
from typing import Final

import msgspec

from feedmill.adapters.store.statements import (
    Query,
    rows,
    slots,
    storable,
    write,
    write_many,
)
from feedmill.adapters.store.tables.blobs import INSERT as INSERT_BLOB
from feedmill.adapters.store.tables.codec import Row, blob_row, instant, json_text, micros
from feedmill.adapters.store.tables.paging import page_of
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.live_screen import HeldEntry, Standing, StandingScreen
from feedmill.model.page import Page
from feedmill.model.screening import Screening, TopicSet

_COLLECTED_COLUMNS: Final = "fetch_id, url, final_url, fetched_at, body_sha256, content_type"
_SCREEN_COLUMNS: Final = "id, created_at, feed_id, tag, keep_at, method, topics"
_NEW_HELD_COLUMNS: Final = (
    "feed_no, entry_uid, dedupe_key, content_hash, held_at, fetch_id, body_sha256, slice_offset,"
    " title, screening"
)
_HELD_COLUMNS: Final = (
    "f.id, h.entry_uid, h.dedupe_key, h.content_hash, h.held_at, h.fetch_id, h.body_sha256,"
    " h.slice_offset, h.title, h.screening"
)
_topics: Final = msgspec.json.Decoder(TopicSet).decode
_screening: Final = msgspec.json.Decoder(Screening).decode
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
INSERT INTO held_entries ({_NEW_HELD_COLUMNS})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       dedupe_key = excluded.dedupe_key, content_hash = excluded.content_hash,
       fetch_id = excluded.fetch_id, body_sha256 = excluded.body_sha256,
       slice_offset = excluded.slice_offset, title = excluded.title,
       screening = coalesce(excluded.screening, held_entries.screening)"""
_HELD: Final = f"""
SELECT h.held_no, {_HELD_COLUMNS}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)
 ORDER BY h.held_no LIMIT $3"""
# One statement, so that screens and held entries are of one snapshot.
_STANDING: Final = f"""
SELECT {_SCREEN_COLUMNS}, NULL AS entry_uid, NULL AS content_hash FROM standing_screens
 UNION ALL
SELECT NULL, 0, NULL, NULL, NULL, NULL, NULL, entry_uid, content_hash FROM held_entries
 WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"""
_LAST: Final = 2**63 - 1


def keep_collected(document: CollectedDocument, blob: BlobRef) -> Query[None]:
    """Index a document that a window was collected from."""
    yield from write(INSERT_BLOB, *blob_row(blob))
    yield from write(
        f"INSERT INTO collected_documents ({_COLLECTED_COLUMNS}) VALUES ({slots(6)})",
        *_collected_row(document),
    )


def add_screen(screen: StandingScreen) -> Query[None]:
    """Store a live screen."""
    kept = yield from storable(screen)
    yield from write(
        f"INSERT INTO standing_screens ({_SCREEN_COLUMNS}) VALUES ({slots(7)})", *_screen_row(kept)
    )


def screens() -> Query[tuple[StandingScreen, ...]]:
    """Every live screen, the oldest first."""
    found = yield from rows(
        f"SELECT {_SCREEN_COLUMNS} FROM standing_screens ORDER BY created_at, id"
    )
    return tuple(_screen_of(one) for one in found)


def remove_screen(screen_id: str) -> Query[bool]:
    """Delete a live screen; what it holds stays held."""
    return (yield from write("DELETE FROM standing_screens WHERE id = $1", screen_id)) == 1


def hold(feed_no: int, entries: Sequence[HeldEntry]) -> Query[None]:
    """Hold entries for review."""
    kept = yield from storable(tuple(entries))
    yield from write_many(_HOLD, [_held_row(feed_no, one) for one in kept])


def release(feed_no: int, entry_uids: Sequence[str]) -> Query[None]:
    """Hold entries no longer: they are stored."""
    yield from write(
        "DELETE FROM held_entries WHERE feed_no = $1 AND entry_uid @in($2)",
        feed_no,
        list(entry_uids),
    )


def held(
    *, feed_id: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[HeldEntry]]:
    """Entries that wait for a decision, the oldest first."""
    since = min(int(after), _LAST) if after is not None and after.isdecimal() else 0
    found = yield from rows(_HELD, since, feed_id, limit + 1)
    return page_of(found, limit, lambda one: _held_of(one[1:]), lambda one: f"{one[0]}")


def standing(feed_id: str) -> Query[Standing]:
    """Every screen, and what was ever held of a feed and not stored since."""
    found = yield from rows(_STANDING, feed_id)
    screened = [_screen_of(one[:7]) for one in found if one[7] is None]
    return Standing(
        screens=tuple(sorted(screened, key=lambda screen: (screen.created_at, screen.id))),
        held={one[7]: one[8] for one in found if one[7] is not None},
    )


def drop_held(entry_uids: Sequence[str]) -> Query[int]:
    """Reject held entries; how many of them were waiting."""
    waiting = yield from rows(
        "SELECT held_no FROM held_entries"
        " WHERE entry_uid @in($1) AND dropped = 0 ORDER BY held_no @lock(FOR UPDATE)",
        list(entry_uids),
    )
    numbers = [held_no for (held_no,) in waiting]
    return (yield from write("UPDATE held_entries SET dropped = 1 WHERE held_no @in($1)", numbers))


def _collected_row(document: CollectedDocument) -> Row:
    return (
        document.fetch_id,
        document.url,
        document.final_url,
        micros(document.fetched_at),
        document.body_sha256,
        document.content_type,
    )


def _screen_row(screen: StandingScreen) -> Row:
    topics = None if screen.topics is None else json_text(screen.topics)
    whose = (screen.feed_id, screen.tag)
    return (screen.id, micros(screen.created_at), *whose, screen.keep_at, screen.method, topics)


def _screen_of(row: Row) -> StandingScreen:
    screen_id, created_at, feed_id, tag, keep_at, method, topics = row
    return StandingScreen(
        id=screen_id,
        created_at=instant(created_at),
        feed_id=feed_id,
        tag=tag,
        keep_at=keep_at,
        method=method,
        topics=None if topics is None else _topics(topics),
    )


def _held_row(feed_no: int, one: HeldEntry) -> Row:
    return (
        feed_no,
        one.entry_uid,
        one.dedupe_key,
        one.content_hash,
        micros(one.held_at),
        one.fetch_id,
        one.body_sha256,
        one.slice_offset,
        one.title,
        None if one.screening is None else json_text(one.screening),
    )


def _held_of(row: Row) -> HeldEntry:
    feed_id, uid, dedupe_key, content_hash, held_at, fetch_id, body, offset, title, screening = row
    return HeldEntry(
        feed_id=feed_id,
        entry_uid=uid,
        dedupe_key=dedupe_key,
        content_hash=content_hash,
        held_at=instant(held_at),
        fetch_id=fetch_id,
        body_sha256=body,
        slice_offset=offset,
        title=title,
        screening=None if screening is None else _screening(screening),
    )
