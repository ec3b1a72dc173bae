"""Which entries get a full text: the feeds that opted in, new entries, as many as a poll may add; which of two texts is better."""

from collections.abc import Sequence
from typing import Final

from feedmill.canonicalise.urls import http_url
from feedmill.config import FullTextConfig
from feedmill.model.derived.full_text import ExtractedText, NoFullText
from feedmill.model.feed import Feed
from feedmill.model.identity import Added, Change
from feedmill.model.running.job import NewJob

KIND = "fulltext"


def wants_full_text(feed: Feed, config: FullTextConfig) -> bool:
    """True when the feed opted in: by its own setting, or else by one of its tags."""
    own = feed.overrides.full_text
    return not set(feed.tags).isdisjoint(config.tags) if own is None else own


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
    return NewJob(kind=KIND, key=entry_uid, url=url, feed_id=feed_id)


_TEASER_WORDS: Final = 250  # behind a paywall, a text up to here is its beginning
_SHARE_OF_FEED: Final = 0.8  # a text below this share of the feed's own has lost something


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
