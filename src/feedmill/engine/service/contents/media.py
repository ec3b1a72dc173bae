"""Media for every interface: list, read, retry and prune the files of entries."""
# Tested in tests/integration/engine/jobs/test_media.py

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final

from feedmill.engine.documents.media import media_of, sweep_media, tidy_media
from feedmill.engine.run.pages import each_item
from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import clamp_limit, one_of, require_feed
from feedmill.errors import ConflictError, NotFoundError, required
from feedmill.media.select import rules_of, select_job
from feedmill.model.base import Value
from feedmill.model.derived.media import MEDIA_STATES, MediaFilter, MediaItem
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.publish.shapes import MediaPage, MediaShape

_PIECE: Final = 262_144
_PAGE: Final = 500


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
    return [one async for one in each_item(lambda after: read(where, after=after, limit=_PAGE))]


async def _beyond_rules(chosen: Sequence[MediaItem], services: Services) -> list[str]:
    going: list[str] = []
    for feed_id in sorted({one.feed_id for one in chosen}):
        feed = await services.store.feed(feed_id)
        newest = 0 if feed is None else rules_of(feed, services.config.media).newest
        if newest:
            going += await services.store.media_beyond(feed_id, newest)
    return going
