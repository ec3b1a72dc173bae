"""Files of entries: room for them under the quota, their place and name, and how they go."""
# Tested in tests/integration/engine/jobs/test_media.py

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.ports.media import MediaFiles, PartialFile
from feedmill.engine.run.services import Services
from feedmill.errors import UsageError
from feedmill.media.names import link_names
from feedmill.media.select import files_that_go
from feedmill.media.types import ending_for
from feedmill.model.derived.media import MediaItem
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed
from feedmill.model.running.job import JobStep
from feedmill.observe.traces import span
from feedmill.publish.events import event_of_media

_CANDIDATES: Final = 1_000  # files that are looked at for room
_COMING: Final = timedelta(hours=1)  # after so long a content that no row got is left over


def media_of(services: Services) -> MediaFiles:
    """The files; UsageError where the services have none."""
    if services.media is None:
        message = "these services keep no files"
        raise UsageError(message)
    return services.media


async def make_room(item: MediaItem, size_bytes: int, services: Services) -> bool:
    """Reserve room for a download, and delete files of older entries for it; False when that is not enough."""
    quota = services.config.media.quota_bytes
    while missing := await services.store.reserve_media(item.media_id, size_bytes, quota=quota):
        oldest = await services.store.oldest_media(_CANDIDATES)
        going = files_that_go(oldest, missing, before=item.published_at)
        if not going:
            return False
        digests = [one.sha256 for one in going]
        now = services.clock.now()
        if not await services.store.prune_media(now=now, sha256s=digests, before=item.published_at):
            return False
        await sweep_media(services)
    return True


async def store_media(
    item: MediaItem,
    partial: PartialFile,
    entry: StoredEntry,
    feed: Feed,
    services: Services,
    step: JobStep,
) -> MediaItem | None:
    """Put a whole file in its place with a readable name and an event; None when the same is deleted now."""
    files, now = media_of(services), services.clock.now()
    sha256, size = partial.sha256(), partial.size_bytes
    if not await services.store.begin_media_file(sha256, size, now=now):
        return None
    with span("keep"):
        await files.keep(partial, sha256)
    stored = replace(
        item,
        state="stored",
        ended_at=now,
        sha256=sha256,
        size_bytes=size,
        received_bytes=size,
        reason=None,
        detail="",
    )
    ending = ending_for(stored.media_type or stored.type, stored.final_url or stored.url)
    names = link_names(feed.title, entry.title, item.published_at, ending, item.media_id)
    with span("store"):
        saved = await services.store.save_media(
            stored, names=tuple(names), events=(event_of_media(stored, at=now),), step=step
        )
    if saved is not None and saved.path is not None:
        await files.link(saved.path, sha256)
    return saved or stored


async def sweep_media(services: Services) -> int:
    """Delete the files of contents that no entry has any more; how many."""
    before = services.clock.now() - _COMING
    going = await services.store.release_media_files(before=before)
    if going:
        await media_of(services).delete(going)
        await services.store.forget_media_files(going)
    return len(going)


async def tidy_media(services: Services) -> int:
    """Sweep, and make partial files and readable names agree with the store; how many files went."""
    files, gone = media_of(services), await sweep_media(services)
    await services.store.fail_media_without_job(now=services.clock.now())
    await files.drop_partials(keep=await services.store.media_downloads())
    wanted, there = await services.store.media_links(), await files.links()
    await files.unlink(there - wanted.keys())
    for path in wanted.keys() - there:
        await files.link(path, wanted[path])
    return gone
