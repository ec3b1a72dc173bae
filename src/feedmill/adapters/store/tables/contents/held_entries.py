"""Tables `standing_screens`, `held_entries` and `collected_documents`: what is not an entry yet (001)."""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import Row, RowCodec, blob_row, json_column
from feedmill.adapters.store.tables.paging import page_of
from feedmill.adapters.store.tables.running.blobs import INSERT as INSERT_BLOB
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.screening import HeldEntry, LiveScreen, LiveScreenState, Screening, TopicSet

_COLLECTED: Final = RowCodec(
    CollectedDocument,
    "fetch_id url final_url fetched_at body_sha256 content_type",
    table="collected_documents",
)
_SCREEN: Final = RowCodec(
    LiveScreen,
    "id created_at feed_id tag keep_at method topics",
    table="standing_screens",
    topics=json_column(TopicSet),
)
_ENTRY: Final = RowCodec(
    HeldEntry,
    "feed_id entry_uid dedupe_key content_hash held_at fetch_id body_sha256 slice_offset"
    " title screening",
    table="held_entries",
    screening=json_column(Screening),
)
_OF_ENTRY: Final = _ENTRY.columns[1:]
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
{sql.insert_into("held_entries", ("feed_no", *_OF_ENTRY))}
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       {sql.excluded([one for one in _OF_ENTRY if one not in ("entry_uid", "held_at", "screening")])},
       screening = coalesce(excluded.screening, held_entries.screening)"""
_HELD: Final = f"""
SELECT h.held_no, f.id, {", ".join(f"h.{name}" for name in _OF_ENTRY)}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)
 ORDER BY h.held_no LIMIT $3"""
# One statement, so that screens and held entries are of one snapshot.
LIVE_SCREEN_STATE: Final = f"""
SELECT {_SCREEN.names()}, NULL AS entry_uid, NULL AS content_hash FROM standing_screens
 UNION ALL
SELECT NULL, 0, NULL, NULL, NULL, NULL, NULL, entry_uid, content_hash FROM held_entries
 WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"""
_LAST: Final = 2**63 - 1


def save_collected(document: CollectedDocument, blob: BlobRef) -> Query[None]:
    """Index a document that a window was collected from."""
    yield from sql.write(INSERT_BLOB, *blob_row(blob))
    yield from sql.write(
        sql.insert_into("collected_documents", _COLLECTED.columns), *_COLLECTED.row(document)
    )


def add_screen(screen: LiveScreen) -> Query[None]:
    """Store a live screen."""
    kept = yield from sql.storable(screen)
    yield from sql.write(sql.insert_into("standing_screens", _SCREEN.columns), *_SCREEN.row(kept))


def screens() -> Query[tuple[LiveScreen, ...]]:
    """Every live screen, the oldest first."""
    return sql.each_of(
        _SCREEN.value, f"SELECT {_SCREEN.names()} FROM standing_screens ORDER BY created_at, id"
    )


def remove_screen(screen_id: str) -> Query[bool]:
    """Delete a live screen; what it holds stays held."""
    return (yield from sql.write("DELETE FROM standing_screens WHERE id = $1", screen_id)) == 1


def hold(feed_no: int, entries: Sequence[HeldEntry]) -> Query[None]:
    """Hold entries for review."""
    kept = yield from sql.storable(tuple(entries))
    yield from sql.write_many(_HOLD, [(feed_no, *_ENTRY.row(one, *_OF_ENTRY)) for one in kept])


def release(feed_no: int, entry_uids: Sequence[str]) -> Query[None]:
    """Hold entries no longer: they are stored."""
    yield from sql.write(
        "DELETE FROM held_entries WHERE feed_no = $1 AND entry_uid @in($2)",
        feed_no,
        list(entry_uids),
    )


def held(
    *, feed_id: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[HeldEntry]]:
    """Entries that wait for a decision, the oldest first."""
    since = min(int(after), _LAST) if after is not None and after.isdecimal() else 0
    found = yield from sql.rows(_HELD, since, feed_id, limit + 1)
    return page_of(found, limit, lambda one: _ENTRY.value(one[1:]), lambda one: f"{one[0]}")


def live_screen_state(feed_id: str) -> Query[LiveScreenState]:
    """Every screen, and what was ever held of a feed and not stored since."""
    return live_screen_state_of((yield from sql.rows(LIVE_SCREEN_STATE, feed_id)))


def live_screen_state_of(found: Sequence[Row]) -> LiveScreenState:
    """The state out of the rows of `LIVE_SCREEN_STATE`."""
    screened = [_SCREEN.value(one[:7]) for one in found if one[7] is None]
    return LiveScreenState(
        screens=tuple(sorted(screened, key=lambda screen: (screen.created_at, screen.id))),
        held={one[7]: one[8] for one in found if one[7] is not None},
    )


def reject_held(entry_uids: Sequence[str]) -> Query[int]:
    """Reject held entries; how many of them were waiting."""
    numbers = yield from sql.column(
        "SELECT held_no FROM held_entries"
        " WHERE entry_uid @in($1) AND dropped = 0 ORDER BY held_no @lock(FOR UPDATE)",
        list(entry_uids),
    )
    return (
        yield from sql.write("UPDATE held_entries SET dropped = 1 WHERE held_no @in($1)", numbers)
    )
