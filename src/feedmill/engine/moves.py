"""Where a feed may have moved to: candidates are only counted here (D6).

A permanent redirect, itunes:new-feed-url and a changed self link each name an address. One of
them is carried with the feed together with how often and since when it was seen; adopting it
asks for more sightings over two days and for a proof that it is the same feed.
"""

from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url
from feedmill.engine.reading import Read
from feedmill.model.feed import Feed, MoveCandidate
from feedmill.model.fetch import Fresh, Unchanged

Source = Literal["redirect", "itunes:new-feed-url", "self"]


def sight_move(
    feed: Feed, answer: Fresh | Unchanged, read: Read | None, now: datetime
) -> MoveCandidate | None:
    """The candidate after a good answer; `read` is None when the document is the one before.

    A candidate that is named again is counted; another one begins anew; one that nothing names
    any more is forgotten, because the publisher has taken it back.
    """
    for source, url in _named(feed, answer, read):
        target = http_url(url) if url else None
        if target is None or not _is_move(feed.url, target):
            continue
        before = feed.move
        if before is not None and before.url == target:
            return replace(before, source=source, last_seen_at=now, sightings=before.sightings + 1)
        return MoveCandidate(url=target, source=source, first_seen_at=now, last_seen_at=now)
    return None


def _named(
    feed: Feed, answer: Fresh | Unchanged, read: Read | None
) -> tuple[tuple[Source, str | None], ...]:
    """What the answer says about where the feed lives, the strongest word first."""
    if read is None:
        # The same document says again what it said before; only the way to it is news.
        kept = feed.move if feed.move is not None and feed.move.source != "redirect" else None
        again: tuple[tuple[Source, str | None], ...] = ((kept.source, kept.url),) if kept else ()
        return (("redirect", answer.moved_to), *again)
    return (
        ("redirect", answer.moved_to),
        ("itunes:new-feed-url", read.parsed.new_feed_url),
        ("self", _changed_self(feed, read)),
    )


def _changed_self(feed: Feed, read: Read) -> str | None:
    """The document's own address, when it used to be another one.

    One that never was ours is no news: many feeds are served where they do not say they are.
    """
    now = read.clean.self_url
    if feed.move is not None and feed.move.source == "self" and now is not None:
        return now if http_url(now) == feed.move.url else None
    return now if feed.self_url is not None and now != feed.self_url else None


def _is_move(url: str, target: str) -> bool:
    """Elsewhere, and not from https to http."""
    is_downgrade = url.startswith("https:") and not target.startswith("https:")
    return target != url and not is_downgrade
