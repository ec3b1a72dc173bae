"""Background jobs that follow from a poll: pages of archives, full texts and files of new entries; which feeds opted in."""

from collections.abc import Sequence
from typing import Final

from feedmill.canonicalise.urls import http_url
from feedmill.config import BackfillConfig, FullTextConfig, MediaConfig
from feedmill.model.feed import Feed
from feedmill.model.identity import Added, Change, Revised
from feedmill.model.running.job import NewJob

BACKFILL: Final = "backfill"
FULL_TEXT: Final = "fulltext"
SELECT_MEDIA: Final = "media-select"


def is_backfilled(feed: Feed, config: BackfillConfig) -> bool:
    """Whether the archive of the feed is wanted: by its own setting or by a tag."""
    return feed.overrides.archive_backfill or not set(config.tags).isdisjoint(feed.tags)


def wants_full_text(feed: Feed, config: FullTextConfig) -> bool:
    """True when the feed opted in: by its own setting, or else by one of its tags."""
    own = feed.overrides.full_text
    return not set(feed.tags).isdisjoint(config.tags) if own is None else own


def wants_media(feed: Feed, config: MediaConfig) -> bool:
    """True when the feed opted in: by its own setting, or else by one of its tags."""
    own = feed.overrides.media
    return not set(feed.tags).isdisjoint(config.tags) if own is None else own


def backfill_job(feed: Feed, *, max_pages: int | None = None) -> NewJob:
    """The job that walks the archive of a feed; its row stays, so that it is done once."""
    payload = {} if max_pages is None else {"max_pages": max_pages}
    return NewJob(
        kind=BACKFILL, key=feed.id, url=feed.url, feed_id=feed.id, payload=payload, keep=True
    )


def full_text_jobs(
    changes: Sequence[Change], feed: Feed, config: FullTextConfig
) -> tuple[NewJob, ...]:
    """Jobs that fetch the pages of new entries; the first ones of a document, which are the newest."""
    if not wants_full_text(feed, config):
        return ()
    jobs = (
        full_text_job(change.entry_uid, change.seen.entry.link, feed.id)
        for change in changes
        if isinstance(change, Added)
    )
    return tuple(job for job in jobs if job is not None)[: config.max_per_poll]


def full_text_job(entry_uid: str, link: str | None, feed_id: str) -> NewJob | None:
    """The job for one entry; None when it has no address to fetch."""
    url = http_url(link) if link else None
    if url is None:
        return None
    return NewJob(kind=FULL_TEXT, key=entry_uid, url=url, feed_id=feed_id)


def media_jobs(changes: Sequence[Change], feed: Feed, config: MediaConfig) -> tuple[NewJob, ...]:
    """The job that selects files, when a document brought new ones to a feed that opted in."""
    if not wants_media(feed, config) or not any(
        change.seen.entry.enclosures for change in changes if isinstance(change, Added | Revised)
    ):
        return ()
    return (select_job(feed.id),)


def select_job(feed_id: str) -> NewJob:
    """The job that selects the files of a feed; it asks no host."""
    return NewJob(kind=SELECT_MEDIA, key=feed_id, feed_id=feed_id, sooner=True)
