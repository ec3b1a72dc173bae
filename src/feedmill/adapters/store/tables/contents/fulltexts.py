"""Table `fulltexts`: the full text of an entry, or why there is none; one row per entry, deleted with it."""
# Tested in tests/contracts/store/test_fulltexts.py

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import RowCodec, blob_row, instant_or_none
from feedmill.adapters.store.tables.contents.entry_search import index_full_text
from feedmill.adapters.store.tables.lanes import lane_key_of
from feedmill.adapters.store.tables.paging import page_of
from feedmill.adapters.store.tables.running.blobs import INSERT as INSERT_BLOB
from feedmill.adapters.store.tables.running.jobs import advance_job
from feedmill.model.derived.fetched import FullText
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep

_CODEC: Final = RowCodec(
    FullText,
    "entry_uid feed_id url final_url fetched_at extracted_at state reason detail"
    " http_status content_type body_sha256 title author published language paywalled words"
    " html extractor version selector canonical_url",
    table="fulltexts",
)
_OWN: Final = tuple(
    name for name in FullText.__struct_fields__ if name not in ("entry_uid", "feed_id")
)
_COLUMNS: Final = ("entry_id", "host", *_OWN)
_SELECT: Final = (
    f"SELECT e.entry_uid, f.id, {', '.join(f't.{name}' for name in _OWN)}, t.entry_id"
    " FROM fulltexts t JOIN entries e ON e.entry_id = t.entry_id"
    " JOIN feeds f ON f.feed_no = e.feed_no"
)
_SAVE: Final = (
    f"{sql.insert_into('fulltexts', _COLUMNS)} ON CONFLICT (entry_id)"
    f" DO UPDATE SET {sql.excluded(_COLUMNS[1:])}"
)


def save_full_text(
    found: FullText,
    *,
    blob: BlobRef | None = None,
    events: Sequence[NewEvent] = (),
    step: JobStep | None = None,
) -> Query[bool]:
    """Store a full text with its page and its event; False when the entry is gone or the job was lost."""
    if step is not None and not (yield from advance_job(step, found.extracted_at)):
        return False
    entry_id = yield from sql.value(
        "SELECT entry_id FROM entries WHERE entry_uid = $1 @lock(FOR KEY SHARE)", found.entry_uid
    )
    if entry_id is None:
        return False
    if blob is not None:
        yield from sql.write(INSERT_BLOB, *blob_row(blob))
    kept = yield from sql.storable(found)
    yield from sql.write(_SAVE, entry_id, lane_key_of(kept.final_url), *_CODEC.row(kept, *_OWN))
    yield from index_full_text(entry_id, kept)
    cause = f"fulltext/{found.entry_uid}/{found.extracted_at.isoformat()}"
    yield from sql.append_events(events, cause)
    return True


def full_text(entry_uid: str) -> Query[FullText | None]:
    """The full text of an entry."""
    found = yield from sql.row(f"{_SELECT} WHERE e.entry_uid = $1", entry_uid)
    return None if found is None else _CODEC.value(found[:-1])


def full_texts_of(entry_uids: Sequence[str]) -> Query[dict[str, FullText]]:
    """The texts that were extracted for these entries, by their uid."""
    found = yield from sql.rows(
        f"{_SELECT} WHERE e.entry_uid @in($1) AND t.state = 'extracted'", list(entry_uids)
    )
    return {one[0]: _CODEC.value(one[:-1]) for one in found}


def full_texts(
    *, feed_id: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[FullText]]:
    """Full texts of a feed or of all, in the order of their entries."""
    since = int(after) if after is not None and after.isdecimal() else 0
    found = yield from sql.rows(
        f"{_SELECT} WHERE t.entry_id > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)"
        " ORDER BY t.entry_id LIMIT $3",
        since,
        feed_id,
        limit + 1,
    )
    return page_of(found, limit, lambda one: _CODEC.value(one[:-1]), lambda one: f"{one[-1]}")


def last_page_at(url: str) -> Query[datetime | None]:
    """When the last page of the host of an address was fetched."""
    at = yield from sql.value(
        "SELECT max(fetched_at) FROM fulltexts WHERE host = $1", lane_key_of(url)
    )
    return instant_or_none(at)
