"""What was fetched for entries, and is kept apart from them: full texts and files.

From a fetched page to a stored full text: extract, judge, keep with the page and an event.

Files of entries: room for them under the quota, their place and name, and how they go.
"""
# Tested in tests/integration/engine/jobs/test_fulltext.py
# Tested in tests/integration/engine/jobs/test_media.py

import re
from datetime import timedelta
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.config import FullTextConfig
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.documents.raw_documents import FULL_TEXT, keep_document
from feedmill.engine.ports.media import MediaFiles, PartialFile
from feedmill.engine.run.services import Services
from feedmill.errors import MissingExtraError, UsageError
from feedmill.media.select import files_that_go
from feedmill.media.types import ending_for, link_names
from feedmill.model.base import filled
from feedmill.model.derived.fetched import ExtractedText, FullText, MediaItem, NoFullText, PageTask
from feedmill.model.event import StoredEntry
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.running.job import JobStep
from feedmill.observe.traces import span
from feedmill.publish.events import event_of_full_text, event_of_media

_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_WORD: Final = re.compile(r"\w+")
_CANDIDATES: Final = 1_000  # files that are looked at for room
_COMING: Final = timedelta(hours=1)  # after so long a content that no row got is left over
_TEASER_WORDS: Final = 250  # behind a paywall, a text up to here is its beginning
_SHARE_OF_FEED: Final = 0.8  # a text below this share of the feed's own has lost something


async def store_full_text(
    entry: StoredEntry, feed: Feed, answer: Answer, services: Services, step: JobStep | None = None
) -> FullText | None:
    """Extract the text of a page that was fetched and store both; None when the entry is gone."""
    document = answer.document
    body = b"" if document is None else document.body
    digest = sha256(body).hexdigest() if body else None
    blob = None if digest is None else await _keep(body, digest, feed, answer, services)
    made = FullText(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        url=answer.url,
        final_url=answer.response.final_url,
        fetched_at=answer.at,
        extracted_at=answer.at,
        state="failed",
        http_status=answer.response.status,
        content_type=None if document is None else document.content_type,
        body_sha256=digest,
    )
    found = await extract_again(made, body, entry, feed, services)
    event = event_of_full_text(found)
    with span("store"):
        saved = await services.store.save_full_text(found, blob=blob, events=(event,), step=step)
    return found if saved else None


async def _keep(
    body: bytes, digest: str, feed: Feed, answer: Answer, services: Services
) -> BlobRef:
    """Keep the page with a note that says whose it is: it is no document of a feed."""
    fetch = FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=answer.at,
        fetched_at=answer.at,
        url=feed.url,
        final_url=answer.response.final_url,
        outcome=FULL_TEXT,
        http_status=answer.response.status,
        body_sha256=digest,
    )
    return await keep_document(body, fetch, feed, services.store, services.blobs)


async def extract_again(
    page: FullText, body: bytes, entry: StoredEntry, feed: Feed, services: Services
) -> FullText:
    """The full text that a stored page gives today."""
    if services.extractor is None:
        extra, part = "fulltext", "extracting full texts"
        raise MissingExtraError(extra, part)
    selector, config = feed.overrides.full_text_selector, services.config
    task = PageTask(
        body=body,
        url=page.final_url,
        content_type=page.content_type,
        selector=selector,
        max_chars=config.normalise.content_max_chars,
        max_depth=config.normalise.html_max_depth,
    )
    with span("extract"):
        extracted = await services.extractor.extract(task)
    words = _words(entry.content or entry.summary or "")
    judged = judge_text(extracted, feed_words=words, config=config.fulltext)
    return full_text_of(page, judged, selector=selector)


def failed_page(page: FullText, failed: NoFullText) -> FullText:
    """The row of a page that could not be fetched."""
    return full_text_of(page, failed, selector=None)


def full_text_of(
    page: FullText, found: ExtractedText | NoFullText, *, selector: str | None
) -> FullText:
    """The page with what was extracted from it, or with the reason of the failure."""
    facts = {
        name: getattr(page, name)
        for name in (
            *("entry_uid", "feed_id", "url", "final_url", "fetched_at", "extracted_at"),
            *("http_status", "content_type", "body_sha256"),
        )
    }
    if isinstance(found, NoFullText):
        return FullText(
            **facts, state="failed", reason=found.reason, detail=found.detail, selector=selector
        )
    return filled(FullText, found, **facts, state="extracted", selector=selector)


def _words(html: str) -> int:
    return len(_WORD.findall(_TAG.sub(" ", html)))


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


def judge_text(
    found: ExtractedText | NoFullText, *, feed_words: int, config: FullTextConfig
) -> ExtractedText | NoFullText:
    """The text, or the reason to keep what the feed has."""
    if isinstance(found, NoFullText):
        return found
    words = f"{found.words} words"
    if found.paywalled and found.words < _TEASER_WORDS:
        return NoFullText(reason="paywall", detail=words)
    if found.words < config.min_words:
        return NoFullText(reason="too-short", detail=words)
    if found.words < _SHARE_OF_FEED * feed_words:
        return NoFullText(reason="shorter-than-feed", detail=f"{words}, the feed has {feed_words}")
    return found
