"""Tables `standing_screens`, `held_entries` and `collected_documents`: what is not an entry yet (001)."""
# Tested in tests/contracts/store/

# ruff: noqa: S608  # names come from the lists below; values are parameters

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.statements import (
    Query,
    rows,
    slots,
    storable,
    write,
    write_many,
)
from feedmill.adapters.store.tables.codec import RowCodec, blob_row, json_column
from feedmill.adapters.store.tables.paging import page_of
from feedmill.adapters.store.tables.running.blobs import INSERT as INSERT_BLOB
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.screening import HeldEntry, LiveScreen, LiveScreenState, Screening, TopicSet

_COLLECTED: Final = RowCodec(
    CollectedDocument,
    "fetch_id url final_url fetched_at body_sha256 content_type",
)
_SCREEN: Final = RowCodec(
    LiveScreen,
    "id created_at feed_id tag keep_at method topics",
    topics=json_column(TopicSet),
)
_ENTRY: Final = RowCodec(
    HeldEntry,
    "feed_id entry_uid dedupe_key content_hash held_at fetch_id body_sha256 slice_offset"
    " title screening",
    screening=json_column(Screening),
)
_OF_ENTRY: Final = (
    "entry_uid", "dedupe_key", "content_hash", "held_at", "fetch_id", "body_sha256",
    "slice_offset", "title", "screening",
)  # fmt: skip
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
INSERT INTO held_entries (feed_no, {", ".join(_OF_ENTRY)})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       dedupe_key = excluded.dedupe_key, content_hash = excluded.content_hash,
       fetch_id = excluded.fetch_id, body_sha256 = excluded.body_sha256,
       slice_offset = excluded.slice_offset, title = excluded.title,
       screening = coalesce(excluded.screening, held_entries.screening)"""
_HELD: Final = f"""
SELECT h.held_no, f.id, {", ".join(f"h.{name}" for name in _OF_ENTRY)}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)
 ORDER BY h.held_no LIMIT $3"""
# One statement, so that screens and held entries are of one snapshot.
_STANDING: Final = f"""
SELECT {_SCREEN.names()}, NULL AS entry_uid, NULL AS content_hash FROM standing_screens
 UNION ALL
SELECT NULL, 0, NULL, NULL, NULL, NULL, NULL, entry_uid, content_hash FROM held_entries
 WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"""
_LAST: Final = 2**63 - 1


def save_collected(document: CollectedDocument, blob: BlobRef) -> Query[None]:
    """Index a document that a window was collected from."""
    yield from write(INSERT_BLOB, *blob_row(blob))
    yield from write(
        f"INSERT INTO collected_documents ({_COLLECTED.names()}) VALUES ({slots(6)})",
        *_COLLECTED.row(document),
    )


def add_screen(screen: LiveScreen) -> Query[None]:
    """Store a live screen."""
    kept = yield from storable(screen)
    yield from write(
        f"INSERT INTO standing_screens ({_SCREEN.names()}) VALUES ({slots(7)})", *_SCREEN.row(kept)
    )


def screens() -> Query[tuple[LiveScreen, ...]]:
    """Every live screen, the oldest first."""
    found = yield from rows(
        f"SELECT {_SCREEN.names()} FROM standing_screens ORDER BY created_at, id"
    )
    return tuple(_SCREEN.value(one) for one in found)


def remove_screen(screen_id: str) -> Query[bool]:
    """Delete a live screen; what it holds stays held."""
    return (yield from write("DELETE FROM standing_screens WHERE id = $1", screen_id)) == 1


def hold(feed_no: int, entries: Sequence[HeldEntry]) -> Query[None]:
    """Hold entries for review."""
    kept = yield from storable(tuple(entries))
    yield from write_many(_HOLD, [(feed_no, *_ENTRY.row(one, *_OF_ENTRY)) for one in kept])


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
    return page_of(found, limit, lambda one: _ENTRY.value(one[1:]), lambda one: f"{one[0]}")


def live_screen_state(feed_id: str) -> Query[LiveScreenState]:
    """Every screen, and what was ever held of a feed and not stored since."""
    found = yield from rows(_STANDING, feed_id)
    screened = [_SCREEN.value(one[:7]) for one in found if one[7] is None]
    return LiveScreenState(
        screens=tuple(sorted(screened, key=lambda screen: (screen.created_at, screen.id))),
        held={one[7]: one[8] for one in found if one[7] is not None},
    )


def reject_held(entry_uids: Sequence[str]) -> Query[int]:
    """Reject held entries; how many of them were waiting."""
    waiting = yield from rows(
        "SELECT held_no FROM held_entries"
        " WHERE entry_uid @in($1) AND dropped = 0 ORDER BY held_no @lock(FOR UPDATE)",
        list(entry_uids),
    )
    numbers = [held_no for (held_no,) in waiting]
    return (yield from write("UPDATE held_entries SET dropped = 1 WHERE held_no @in($1)", numbers))
