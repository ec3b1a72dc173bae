"""Finds a subscription that is the same blog in another format, or at another address of its site.

The store is asked which feeds have entries with the links of the newest entries; their last documents are
compared with the one that was fetched (canonicalise/same_blog.py). A feed on another site counts only if it
lives where its own home page is: a copy must not take the place of what it copies.
"""
# Tested in tests/integration/engine/subscribe/test_other_formats.py

from collections import Counter
from typing import Final

from feedmill.canonicalise.policies import canonical_link
from feedmill.canonicalise.same_blog import same_blog
from feedmill.canonicalise.urls import is_same_site
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.feed_facts import facts_of
from feedmill.engine.subscribe.same_feed import stored_document
from feedmill.identify.keys import identity_keys
from feedmill.model.canonical import FeedFacts, Seen
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed
from feedmill.model.identity import IdentityKey
from feedmill.model.parsed import ParsedFeed
from feedmill.parse.document import parse_document
from feedmill.publish.events import event_of_merge

_LOOKED_UP: Final = 10  # newest entries
_COMPARED: Final = 5  # feeds that have most of them
_MOST_TWINS: Final = 10  # processes that add one blog at the same time


async def find_other_format(seen: Seen, services: Services, but: str = "") -> Feed | None:
    """The subscription that is the feed which was seen, in another format; `but` is not it."""
    facts = seen.facts
    if facts is None or not facts.links:
        return None
    rows = await services.store.known("", _link_keys(facts), ())
    counts = Counter(row.feed_id for row in rows if row.feed_id not in (None, but))
    for feed_id, _ in counts.most_common(_COMPARED):
        feed = await services.store.feed(feed_id or "")
        if feed is None or feed.overrides.username or not _may_stand_for(feed, seen):
            continue
        theirs = await stored_facts(feed, services)
        if theirs is not None and same_blog(theirs, facts):
            return feed
    return None


async def merge_with_twins(feed: Feed, seen: Seen, services: Services) -> Feed:
    """The one subscription that is left of those that processes made of one blog at the same time.

    Every process looks after it has stored its entries, so at least one of two sees the other's; the younger
    is merged into the older. It looks again until there is none: a third one may have been merged meanwhile.
    """
    store, kept = services.store, feed
    for _ in range(_MOST_TWINS):
        twin = await find_other_format(seen, services, but=kept.id)
        if twin is None or not is_same_site(twin.url, kept.url):
            break
        older, younger = sorted((kept, twin), key=lambda one: (one.created_at, one.id))
        now = services.clock.now()
        event = event_of_merge(younger, older, "entries", now=now)
        await store.merge_feeds(younger.id, older.id, at=now, events=(event,))
        kept = await store.feed(older.id) or await store.find_feed((kept.url,)) or kept
    return kept


async def stored_facts(feed: Feed, services: Services) -> FeedFacts | None:
    """What the feed's last document says of it, while it is kept."""
    document = await stored_document(feed, services)
    if document is None:
        return None
    parsed = await PARSE_THREADS.run(lambda: parse_document(document, services.config.parse))
    return facts_of(parsed) if isinstance(parsed, ParsedFeed) else None


def _may_stand_for(feed: Feed, seen: Seen) -> bool:
    if is_same_site(feed.url, seen.final_url):
        return True
    return feed.site_url is not None and is_same_site(feed.url, feed.site_url)


def _link_keys(facts: FeedFacts) -> list[IdentityKey]:
    """The keys of the entries' links, by every scheme and with and without `www.`."""
    keys: list[IdentityKey] = []
    for published in facts.links[:_LOOKED_UP]:
        bare = published.partition("://")[2].removeprefix("www.")
        for start in ("https://", "http://", "https://www.", "http://www."):
            link = canonical_link(f"{start}{bare}")
            if link is not None:
                found = identity_keys(Entry(link=link, canonical_link=link), "")
                keys += (key for key in found if key.type == "canonical_url")
    return list(dict.fromkeys(keys))
