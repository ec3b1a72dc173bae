"""Which feeds get their archive walked, and the job that does it."""

from typing import Final

from feedmill.config import BackfillConfig
from feedmill.model.feed import Feed
from feedmill.model.running.job import NewJob

BACKFILL: Final = "backfill"  # the kind of the job


def is_backfilled(feed: Feed, config: BackfillConfig) -> bool:
    """Whether the archive of the feed is wanted: by its own setting or by a tag."""
    return feed.overrides.archive_backfill or not set(config.tags).isdisjoint(feed.tags)


def backfill_job(feed: Feed, *, max_pages: int | None = None) -> NewJob:
    """The job that walks the archive of a feed; its row stays, so that it is done once."""
    payload = {} if max_pages is None else {"max_pages": max_pages}
    return NewJob(
        kind=BACKFILL, key=feed.id, url=feed.url, feed_id=feed.id, payload=payload, keep=True
    )
