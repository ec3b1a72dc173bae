"""Full texts and files of entries, for every interface.

Full texts: opt in, fetch pages, extract stored pages again, read. Files: list, read, retry and prune.
"""
# Tested in tests/integration/engine/jobs/test_fulltext.py
# Tested in tests/integration/engine/jobs/test_media.py

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.documents.fetched import extract_again, media_of, sweep_media, tidy_media
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.run.services import Services, each_item
from feedmill.engine.service import queries
from feedmill.engine.service.queries import clamp_limit, one_of, require_feed
from feedmill.errors import ConflictError, NotFoundError, required
from feedmill.media.select import rules_of
from feedmill.model.base import Value
from feedmill.model.derived.fetched import MEDIA_STATES, FullText, MediaFilter, MediaItem
from feedmill.model.event import StoredEntry
from feedmill.model.page import EntryFilter, LinePage
from feedmill.publish.events import event_of_full_text
from feedmill.publish.shapes import FullTextShape, MediaPage, MediaShape
from feedmill.publish.to_json import read_cursor, write_cursor
from feedmill.schedule.follow_up import full_text_job, select_job

_PAGE = 200
_PIECE: Final = 262_144
_MEDIA_PAGE: Final = 500


class Replayed(Value):
    """What today's extractor made of stored pages."""

    pages: int = 0  # that were extracted again
    changed: int = 0  # of them, those whose text differs
    missing: int = 0  # pages that retention has deleted
    current: int = 0  # extracted by today's extractor already


async def get_full_text(entry_uid: str, services: Services) -> FullTextShape:
    """The full text of an entry, or why it has none."""
    entry = await queries.entry(entry_uid, services)
    found = await services.store.full_text(entry.entry_uid)
    message = f"the page of entry {entry.entry_uid} was not fetched"
    return required(found, message, "fetch it: `feedmill fulltext fetch ENTRY`")


async def entry_with_full_text(entry_uid: str, services: Services) -> dict[str, Any]:
    """One entry with its full text in `full_text`; null where there is none."""
    found = await queries.entry(entry_uid, services)
    return (await _with_full_texts((found,), services))[0]


async def entries_with_full_text(
    where: EntryFilter, services: Services, *, cursor: str | None = None, limit: int | None = None
) -> LinePage:
    """Entries that match the filter, each with its full text in `full_text`."""
    page = await queries.entries(where, services, cursor=cursor, limit=limit)
    items = await _with_full_texts(page.items, services)
    return LinePage(lines=b"\n".join(map(msgspec.json.encode, items)), next=page.next)


async def with_full_content(
    entries: Sequence[StoredEntry], services: Services
) -> tuple[StoredEntry, ...]:
    """The entries with their full text as content, where there is one."""
    found = await services.store.full_texts_of([one.entry_uid for one in entries])
    return tuple(
        replace(one, content=text.html) if (text := found.get(one.entry_uid)) else one
        for one in entries
    )


async def queue_pages(
    services: Services,
    *,
    entry_uids: Sequence[str] = (),
    feed_id: str | None = None,
    limit: int = 20,
) -> list[str]:
    """Queue the pages of entries, or of the newest entries of a feed; the uids that were queued.

    An entry that has a full text, or a reason for having none, is fetched anew.
    """
    entries = [await queries.entry(uid, services) for uid in entry_uids]
    if feed_id is not None:
        where = EntryFilter(feed_id=feed_id)
        entries += (await services.store.entries(where, limit=limit)).items
    queued: list[str] = []
    for entry in entries:
        job = full_text_job(entry.entry_uid, entry.link, entry.feed_id)
        if job is not None:
            wanted = replace(job, payload={"forced": True})
            await services.store.add_job(wanted, now=services.clock.now(), restart=True)
            queued.append(entry.entry_uid)
    return queued


async def replay_pages(
    services: Services, version: str, *, feed_id: str | None = None, everything: bool = False
) -> Replayed:
    """Extract stored pages again that another version extracted; all with `everything`."""
    done, read = Replayed(), services.store.full_texts
    async for page in each_item(lambda after: read(feed_id=feed_id, after=after, limit=_PAGE)):
        if page.body_sha256 is None:
            continue
        if not everything and page.version == version:
            done = replace(done, current=done.current + 1)
            continue
        changed = await _replay(page, services)
        if changed is None:
            done = replace(done, missing=done.missing + 1)
        else:
            done = replace(done, pages=done.pages + 1, changed=done.changed + changed)
    return done


async def _replay(page: FullText, services: Services) -> bool | None:
    """True when the text is another now; None when the page or its entry is gone."""
    entry = await services.store.entry(page.entry_uid)
    feed = await services.store.feed(page.feed_id)
    if entry is None or feed is None or page.body_sha256 is None:
        return None
    try:
        body = await load_body(page.body_sha256, services.store, services.blobs)
    except NotFoundError:
        return None
    again = replace(page, extracted_at=services.clock.now())
    found = await extract_again(again, body, entry, feed, services)
    changed = (found.html, found.reason) != (page.html, page.reason)
    events = (event_of_full_text(found),) if changed else ()
    await services.store.save_full_text(found, events=events)
    return changed


async def _with_full_texts(
    entries: Sequence[StoredEntry], services: Services
) -> list[dict[str, Any]]:
    found = await services.store.full_texts_of([one.entry_uid for one in entries])
    return [
        msgspec.to_builtins(one) | {"full_text": msgspec.to_builtins(found.get(one.entry_uid))}
        for one in entries
    ]


class Pruned(Value):
    """What was let go."""

    pruned: int = 0  # rows that have lost their file
    files: int = 0  # contents that were deleted


async def list_media(
    services: Services,
    *,
    feed_id: str | None = None,
    entry_uid: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> MediaPage:
    """Files of entries, those that were wanted last first."""
    wanted = one_of(state, MEDIA_STATES, "state of a file")
    page = await services.store.media_items(
        MediaFilter(feed_id=feed_id, entry_uid=entry_uid, state=wanted),
        after=read_cursor("media", cursor),
        limit=clamp_limit(limit),
    )
    return MediaPage(items=page.items, next=write_cursor("media", page.next))


async def get_media(media_id: str, services: Services) -> MediaShape:
    """One file: stored, on its way, or why not."""
    found = await services.store.media_item(media_id)
    return required(found, f"there is no media file {media_id}", "list them: feedmill media list")


async def stored_media(media_id: str, services: Services) -> MediaShape:
    """One file that can be read."""
    found = await get_media(media_id, services)
    if found.state != "stored":
        message = f"media file {media_id} is not stored ({found.reason or found.state})"
        raise NotFoundError(message, hint=f"download it: feedmill media retry {media_id}")
    return found


async def read_media(
    item: MediaItem, services: Services, start: int = 0, end: int | None = None
) -> AsyncIterator[bytes]:
    """The bytes of a stored file in pieces, up to `end`."""
    files, at = media_of(services), start
    size = item.size_bytes or 0
    stop = size if end is None else end
    while at < stop:
        piece = await files.read(item.sha256 or "", at, min(_PIECE, stop - at))
        if not piece:
            return
        yield piece
        at += len(piece)


async def retry_media(media_id: str, services: Services) -> MediaShape:
    """Queue a download again that failed, was pruned, or waits."""
    found = await get_media(media_id, services)
    if not await services.store.retry_media(media_id, now=services.clock.now()):
        message = f"media file {media_id} is {found.state}"
        raise ConflictError(message, reason="media-stored", hint="prune it first")
    return await get_media(media_id, services)


async def select_media(feed_id: str, services: Services) -> None:
    """Queue the selection of a feed's files: its newest entries, as the rules say."""
    feed = await require_feed(feed_id, services)
    await services.store.add_job(select_job(feed.id), now=services.clock.now())


async def prune_media(
    services: Services,
    *,
    media_ids: Sequence[str] = (),
    feed_id: str | None = None,
    before: datetime | None = None,
) -> Pruned:
    """Let go of files: those named, of a feed, of entries before; else what the rules keep no longer."""
    for media_id in media_ids:
        await get_media(media_id, services)
    going = list(media_ids)
    if not going:
        chosen = await _stored(services, feed_id)
        if before is not None:
            going = [one.media_id for one in chosen if one.published_at < before]
        elif feed_id is not None:
            going = [one.media_id for one in chosen]
        else:
            going = await _beyond_rules(chosen, services)
    pruned = await services.store.prune_media(now=services.clock.now(), media_ids=going)
    files = await sweep_media(services)
    return Pruned(pruned=pruned, files=files + await tidy_media(services))


async def _stored(services: Services, feed_id: str | None) -> list[MediaItem]:
    where, read = MediaFilter(feed_id=feed_id, state="stored"), services.store.media_items
    return [
        one async for one in each_item(lambda after: read(where, after=after, limit=_MEDIA_PAGE))
    ]


async def _beyond_rules(chosen: Sequence[MediaItem], services: Services) -> list[str]:
    going: list[str] = []
    for feed_id in sorted({one.feed_id for one in chosen}):
        feed = await services.store.feed(feed_id)
        newest = 0 if feed is None else rules_of(feed, services.config.media).newest
        if newest:
            going += await services.store.media_beyond(feed_id, newest)
    return going
