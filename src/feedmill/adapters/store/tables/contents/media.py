"""Tables `media` and `media_files`: the files of entries, and each content once.

A content is `coming` before its file is put in place, `kept` when a row has it, `deleting` once no row has
it: then the file goes, then the row. Whoever brings a content that is being deleted waits, so a file is
never taken from under a row. What downloads have reserved counts as used while their job lives.
"""
# Tested in tests/contracts/store/test_media.py

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256 as new_sha256
from typing import Final

from msgspec.structs import replace

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, newest_page
from feedmill.adapters.store.tables.codec import Row, RowCodec
from feedmill.adapters.store.tables.running.jobs import add_job, holds_job
from feedmill.media.select import DOWNLOAD_KIND, download_job
from feedmill.media.types import name_key
from feedmill.model.derived.fetched import (
    MediaFile,
    MediaFilter,
    MediaItem,
    MediaUsage,
    WantedFile,
)
from feedmill.model.event import NewEvent
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep

_CODEC: Final = RowCodec(
    MediaItem,
    "entry_uid feed_id media_id url published_at type length integrity state queued_at"
    " received_bytes ended_at final_url http_status media_type sha256 size_bytes path"
    " reason detail",
    table="media",
)
_WANTED: Final = RowCodec(WantedFile, "media_id url published_at type length integrity")
_FILE: Final = RowCodec(MediaFile, "sha256 size_bytes newest_at", table="media_files")
_OWN: Final = _CODEC.names("m.").removeprefix("m.entry_uid, m.feed_id, ")
_SELECT: Final = (
    f"SELECT e.entry_uid, f.id, {_OWN}, m.media_no FROM media m"
    " JOIN entries e ON e.entry_id = m.entry_id JOIN feeds f ON f.feed_no = e.feed_no"
)
_NEW: Final = (
    "media_id", "url", "published_at", "type", "length", "integrity",
    "entry_id", "url_key", "state", "queued_at",
)  # fmt: skip
_RESULT: Final = (
    "state", "ended_at", "received_bytes", "final_url", "http_status", "media_type", "sha256",
    "size_bytes", "reason", "detail",
)  # fmt: skip
_LIVE_JOB: Final = (
    f"EXISTS (SELECT 1 FROM jobs j WHERE j.kind = '{DOWNLOAD_KIND}' AND j.key = m.media_id"
    " AND j.state IN ('queued', 'running'))"
)
_RESERVED: Final = (
    "SELECT coalesce(sum(m.reserved_bytes), 0) FROM media m"
    f" WHERE m.state = 'queued' AND m.reserved_bytes > 0 AND {_LIVE_JOB}"
)
_UNUSED: Final = (
    "NOT EXISTS (SELECT 1 FROM media m WHERE m.sha256 = media_files.sha256 AND m.state = 'stored')"
)
_LOCK: Final = "SELECT pg_advisory_xact_lock(6015, 1)"  # one reservation or deletion at a time


def queue_media(wanted: Sequence[WantedFile], *, now: datetime) -> Query[int]:
    """Note wanted files and queue their downloads; those that are there already stay as they are."""
    queued: dict[str, WantedFile] = {}
    for one in sorted(wanted, key=lambda one: one.published_at):  # lists are by number
        kept = yield from sql.storable(one)
        entry_id = yield from sql.value(
            "SELECT entry_id FROM entries WHERE entry_uid = $1 @lock(FOR KEY SHARE)", kept.entry_uid
        )
        if entry_id is None:
            continue
        key = new_sha256(kept.url.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        new = yield from sql.write(
            f"{sql.insert_into('media', _NEW)} ON CONFLICT DO NOTHING",
            *_WANTED.row(kept),
            entry_id,
            key,
            "queued",
            now,
        )
        if new:
            queued[kept.media_id] = kept
    for one in wanted:  # jobs in the order given: the first is downloaded first
        if one.media_id in queued:
            yield from add_job(download_job(queued[one.media_id]), now=now)
    return len(queued)


def media_item(media_id: str) -> Query[MediaItem | None]:
    """The file of that id."""
    return sql.one_of(_item, f"{_SELECT} WHERE m.media_id = $1", media_id)


def media_items(
    where: MediaFilter, *, after: str | None = None, limit: int = 100
) -> Query[Page[MediaItem]]:
    """Files, the newest first."""
    wanted = {"f.id": where.feed_id, "e.entry_uid": where.entry_uid, "m.state": where.state}
    return newest_page(_SELECT, "m.media_no", wanted, _item, after=after, limit=limit)


def media_usage() -> Query[MediaUsage]:
    """How much is kept and reserved."""
    found = yield from sql.row(
        "SELECT count(*), coalesce(sum(size_bytes), 0),"
        f" ({_RESERVED}) FROM media_files WHERE state <> 'coming'"
    )
    assert found is not None
    files, size_bytes, reserved = (int(one) for one in found)
    return MediaUsage(files=files, size_bytes=size_bytes, reserved_bytes=reserved)


def reserve_media(media_id: str, size_bytes: int, *, quota: int) -> Query[int]:
    """Reserve a part of the quota for a download; how many bytes are missing for it, 0: it has them."""
    yield from sql.lock(_LOCK)
    used = yield from sql.value(
        "SELECT coalesce((SELECT sum(size_bytes) FROM media_files WHERE state <> 'coming'), 0)"
        f" + ({_RESERVED} AND m.media_id <> $1)",
        media_id,
    )
    missing = int(used) + size_bytes - quota
    if missing > 0:
        return missing
    yield from sql.write(
        "UPDATE media SET reserved_bytes = $2 WHERE media_id = $1", media_id, size_bytes
    )
    return 0


def oldest_media(limit: int) -> Query[tuple[MediaFile, ...]]:
    """Contents that are kept, those whose newest entry is the oldest first."""
    return sql.each_of(
        _FILE.value,
        "SELECT c.sha256, c.size_bytes, max(m.published_at) AS newest FROM media_files c"
        " JOIN media m ON m.sha256 = c.sha256 AND m.state = 'stored' WHERE c.state = 'kept'"
        " GROUP BY c.sha256, c.size_bytes ORDER BY newest, c.sha256 LIMIT $1",
        limit,
    )


def prune_media(
    *,
    now: datetime,
    sha256s: Sequence[str] = (),
    media_ids: Sequence[str] = (),
    before: datetime | None = None,
) -> Query[int]:
    """Take the file from rows; contents that a newer entry than `before` has stay."""
    yield from sql.lock(_LOCK)
    going = list(sha256s)
    if before is not None and going:
        newer = yield from sql.column(
            "SELECT DISTINCT m.sha256 FROM media m WHERE m.sha256 @in($1) AND m.published_at >= $2",
            going,
            before,
        )
        going = [one for one in going if one not in newer]
    return (
        yield from sql.write(
            "UPDATE media SET state = 'pruned', ended_at = $1, path = NULL, path_key = NULL"
            " WHERE state = 'stored' AND (sha256 @in($2) OR media_id @in($3))",
            now,
            going,
            list(media_ids),
        )
    )


def media_beyond(feed_id: str, newest: int) -> Query[tuple[str, ...]]:
    """Stored files of a feed that belong to older entries than its newest ones with a file."""
    found = yield from sql.rows(
        "SELECT m.media_id, m.entry_id FROM media m JOIN entries e ON e.entry_id = m.entry_id"
        " JOIN feeds f ON f.feed_no = e.feed_no WHERE f.id = $1 AND m.state IN ('stored', 'queued')"
        " ORDER BY m.published_at DESC, m.entry_id DESC",
        feed_id,
    )
    entries = list(dict.fromkeys(entry for _, entry in found))
    kept = set(entries[:newest])
    return tuple(media_id for media_id, entry in found if entry not in kept)


def begin_media_file(sha256: str, size_bytes: int, *, now: datetime) -> Query[bool]:
    """Announce a content before its file is put in place; False while the same one is being deleted."""
    yield from sql.lock(_LOCK)
    yield from sql.write(
        "INSERT INTO media_files (sha256, size_bytes, state, changed_at)"
        " VALUES ($1, $2, 'coming', $3) ON CONFLICT (sha256) DO UPDATE SET changed_at = $3"
        " WHERE media_files.state <> 'deleting'",
        sha256,
        size_bytes,
        now,
    )
    state = yield from sql.value("SELECT state FROM media_files WHERE sha256 = $1", sha256)
    return bool(state != "deleting")


def save_media(
    item: MediaItem,
    *,
    names: Sequence[str] = (),
    events: Sequence[NewEvent] = (),
    step: JobStep | None = None,
) -> Query[MediaItem | None]:
    """Store what became of a download, under the first name that is free; None when it is gone or lost."""
    if step is not None and not (yield from holds_job(step)):
        return None
    kept = yield from sql.storable(item)
    path = yield from _free_name(kept.media_id, names)
    written = yield from sql.write(
        f"UPDATE media SET {sql.assigned(_RESULT, 2)},"
        f" path = ${len(_RESULT) + 2}, path_key = ${len(_RESULT) + 3}, reserved_bytes = 0"
        " WHERE media_id = $1",
        kept.media_id,
        *_CODEC.row(kept, *_RESULT),
        path,
        None if path is None else name_key(path),
    )
    if not written:
        return None
    if kept.state == "stored":
        yield from sql.write(
            "UPDATE media_files SET state = 'kept' WHERE sha256 = $1 AND state = 'coming'",
            kept.sha256,
        )
    named = [replace(one, data={**one.data, "path": path}) if path else one for one in events]
    at = kept.ended_at or kept.queued_at
    yield from sql.append_events(named, f"media/{kept.media_id}/{at.isoformat()}")
    return replace(kept, path=path)


def save_media_progress(media_id: str, received_bytes: int) -> Query[None]:
    """Note how far a download has come."""
    yield from sql.write(
        "UPDATE media SET received_bytes = $2 WHERE media_id = $1", media_id, received_bytes
    )


def retry_media(media_id: str, *, now: datetime) -> Query[bool]:
    """Queue a file again that failed or was pruned; False when it waits, or is stored."""
    written = yield from sql.write(
        "UPDATE media SET state = 'queued', queued_at = $2, ended_at = NULL, reason = NULL,"
        " detail = '', received_bytes = 0 WHERE media_id = $1 AND state IN ('failed', 'pruned')",
        media_id,
        now,
    )
    item = yield from media_item(media_id)
    if item is None or (not written and item.state != "queued"):
        return False
    yield from add_job(download_job(item, forced=True), now=now, restart=True)
    return True


def release_media_files(*, before: datetime) -> Query[tuple[str, ...]]:
    """Contents that no row has; those that came before and never got a row are among them."""
    yield from sql.lock(_LOCK)
    yield from sql.write(
        f"UPDATE media_files SET state = 'deleting' WHERE {_UNUSED}"
        " AND (state = 'kept' OR (state = 'coming' AND changed_at < $1))",
        before,
    )
    return tuple((yield from sql.column("SELECT sha256 FROM media_files WHERE state = 'deleting'")))


def forget_media_files(sha256s: Sequence[str]) -> Query[None]:
    """Forget contents whose files were deleted."""
    yield from sql.write(
        "DELETE FROM media_files WHERE state = 'deleting' AND sha256 @in($1)", list(sha256s)
    )


def media_files(*, after: str = "", limit: int = 1000) -> Query[tuple[MediaFile, ...]]:
    """Contents that are kept, by digest."""
    return sql.each_of(
        _FILE.value,
        "SELECT sha256, size_bytes, NULL FROM media_files WHERE state = 'kept' AND sha256 > $1"
        " ORDER BY sha256 LIMIT $2",
        after,
        limit,
    )


def media_links() -> Query[Mapping[str, str]]:
    """Readable names, and the content that each one names."""
    found = yield from sql.rows(
        "SELECT path, sha256 FROM media WHERE path IS NOT NULL AND state = 'stored'"
    )
    return dict(found)


def fail_media_without_job(*, now: datetime) -> Query[int]:
    """Note the failure of files whose job was cancelled or used up its attempts; how many."""
    return sql.write(
        "UPDATE media AS m SET state = 'failed', reason = 'unreachable', ended_at = $1,"
        " detail = 'its job has ended: feedmill jobs --kind media', reserved_bytes = 0"
        f" WHERE m.state = 'queued' AND NOT {_LIVE_JOB}",
        now,
    )


def media_downloads() -> Query[frozenset[str]]:
    """Ids of files that wait for their download, or are under way."""
    waiting = f"SELECT m.media_id FROM media m WHERE m.state = 'queued' AND {_LIVE_JOB}"
    return frozenset((yield from sql.column(waiting)))


def _free_name(media_id: str, names: Sequence[str]) -> Query[str | None]:
    for name in names:
        taken = yield from sql.value(
            "SELECT 1 FROM media WHERE path_key = $1 AND media_id <> $2", name_key(name), media_id
        )
        if taken is None:
            return name
    return None


def _item(one: Row) -> MediaItem:
    """The file of a row that ends with its number."""
    return _CODEC.value(one[:-1])
