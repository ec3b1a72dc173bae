"""Proves whether a document belongs to a known feed: by its bytes, its signature, or its entries; finds one blog in two formats.

For a subscription to the same blog in another format, or at another address of its site, the store is asked which feeds have
entries with the links (or the ids, where there is no link) of the newest entries; their last documents are compared with the one that was fetched
(canonicalise/same_feed.py). A feed on another site counts only if it lives where its own home page is: a copy must not
take the place of what it copies.

What a parsed document says of its feed: for lists of choices, and to compare formats of one feed.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.policies import canonical_link, cleanliness
from feedmill.canonicalise.same_feed import (
    MAX_ITEMS,
    best_format,
    feed_signature,
    format_name,
    same_blog,
    same_feed,
)
from feedmill.canonicalise.urls import is_same_site
from feedmill.config import Config
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.identify.keys import identity_keys
from feedmill.model.canonical import FeedFacts, FoundFeed, Seen
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed, MoveProof
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import IdentityKey, Revised
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Unreadable
from feedmill.normalise.dates import parse_date
from feedmill.normalise.text import clean_text
from feedmill.parse.document import parse_document
from feedmill.publish.events import event_of_merge

_LOOKED_AT: Final = 200  # entries whose dates are read
_TITLE_CHARS: Final = 200
_OLDEST: Final = datetime.min.replace(tzinfo=UTC)
_TYPES: Final = {"atom": "application/atom+xml", "json": "application/feed+json"}


async def prove_same(
    feed: Feed, document: RawDocument, services: Services, *, by_entries: bool
) -> MoveProof | None:
    """How the document proves to be the feed's, or None.

    It is compared with the feed's last document. `by_entries` is for when nothing newer can be
    had: then half of its entries have to be known entries of the feed, by the rules of identity.
    """
    theirs = await PARSE_THREADS.run(lambda: _seen(document, services.config))
    if not theirs.is_feed:
        return None
    stored = await stored_document(feed, services)
    if stored is not None:
        ours = await PARSE_THREADS.run(lambda: _seen(stored, services.config))
        proof = await asyncio.to_thread(same_feed, ours, theirs)
        if proof is not None:
            return proof
    if by_entries and await _knows_half(feed, document, services):
        return "entries"
    return None


async def continues_feed(feed: Feed, document: RawDocument, services: Services) -> bool:
    """Whether the document is another state of the feed's last one, and not a part of it.

    A category has entries of the whole feed too, but not all of a time; and often another title.
    """
    stored = await stored_document(feed, services)
    if stored is None:
        return False
    return await PARSE_THREADS.run(lambda: _continues(stored, document, services.config))


async def stored_document(feed: Feed, services: Services) -> RawDocument | None:
    """The last document of the feed, while it is kept."""
    if feed.document_fetch_id is None:
        return None
    fetch = await services.store.fetch(feed.document_fetch_id)
    if fetch is None:
        return None
    return await load_document(fetch, services.store, services.blobs)


async def _knows_half(feed: Feed, document: RawDocument, services: Services) -> bool:
    read = await read_and_compare(
        document,
        feed,
        services.store,
        services.config,
        now=services.clock.now(),
        anew=True,
        rows=(),
    )
    if isinstance(read, NotAFeed):
        return False
    changes = read.changes
    other_entries = sum(
        isinstance(one, Revised) and _is_other_entry(one) for one in changes.changes
    )
    known = changes.summary.revised + changes.summary.touched - other_entries
    return known >= 1 and known >= changes.summary.added + other_entries


def _is_other_entry(revised: Revised) -> bool:
    """Whether it is our entry by its id alone: many publishers number theirs from one."""
    is_named = revised.seen.entry.title is not None
    return ("title" if is_named else "summary") in revised.changed


def _continues(ours: RawDocument, theirs: RawDocument, config: Config) -> bool:
    one, other = parse_document(ours, config.parse), parse_document(theirs, config.parse)
    if isinstance(one, Unreadable) or isinstance(other, Unreadable):
        return False
    if (one.title and one.title.value) != (other.title and other.title.value):
        return False
    seen = {entry.id or entry.link for entry in other.entries}
    common = [(entry.id or entry.link) in seen for entry in one.entries]
    count = sum(common)
    # Whichever end of the list is the newer one: what both have stands there without a gap.
    return count > 0 and (all(common[:count]) or all(common[-count:]))


def _seen(document: RawDocument, config: Config) -> Seen:
    """The document as it is compared: where it came from, its bytes, its lasting content."""
    url = document.url or ""
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        return Seen(url=url, final_url=url)
    # That it has moved stands in the old copy and often not in the new one.
    lasting = replace(parsed, new_feed_url=None)
    return Seen(
        url=url,
        final_url=url,
        is_feed=True,
        digest=sha256(document.body).hexdigest(),
        signature=feed_signature(lasting),
    )


_LOOKED_UP: Final = 10  # newest entries
_COMPARED: Final = 5  # feeds that have most of them
_MOST_TWINS: Final = 10  # processes that add one blog at the same time


async def find_other_format(seen: Seen, services: Services, but: str = "") -> Feed | None:
    """The subscription that is the feed which was seen, in another format; `but` is not it."""
    facts = seen.facts
    keys = [] if facts is None else [*_link_keys(facts), *_guid_keys(facts)]
    if facts is None or not keys:
        return None
    rows = await services.store.known("", keys, ())
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


def _guid_keys(facts: FeedFacts) -> list[IdentityKey]:
    """The keys of entries that have no link, as many episodes of podcasts: their ids, of whatever feed."""
    entries = [Entry(guid=guid) for guid in facts.guids[:_LOOKED_UP]]
    keys = (key for entry in entries for key in identity_keys(entry, ""))
    return [key for key in keys if key.type == "legacy_guid"]


def facts_of(parsed: ParsedFeed) -> FeedFacts:
    """What the document says of its feed."""
    entries = parsed.entries[:_LOOKED_AT]
    dates = [parse_date(entry.published or entry.updated) for entry in entries]
    newest = list(entries)
    if entries and None not in dates:
        order = sorted(range(len(entries)), key=lambda place: dates[place] or _OLDEST, reverse=True)
        newest = [entries[place] for place in order]
    return FeedFacts(
        format=parsed.format,
        title=_plain(parsed.title.value if parsed.title else ""),
        site=_bare(parsed.link),
        language=parsed.language,
        entries=len(parsed.entries),
        last_post=max((date for date in dates if date is not None), default=None),
        items=tuple((_key(entry), _title(entry)) for entry in newest[:MAX_ITEMS]),
        links=tuple(entry.link for entry in newest[:MAX_ITEMS] if entry.link),
        guids=tuple(one.id for one in newest[:MAX_ITEMS] if one.id and not one.link),
        files=tuple((_key(entry), name) for entry in newest[:MAX_ITEMS] if (name := _file(entry))),
        text_chars=sum(_text_chars(entry) for entry in entries),
        dated=sum(date is not None for date in dates) + len(parsed.entries) - len(entries),
        named=sum(bool(entry.id) for entry in parsed.entries),
        has_hub=bool(parsed.hubs),
    )


def described(feed: FoundFeed, seen: Seen | None) -> FoundFeed:
    """The feed with what was seen of it; as it is when it was not requested, or is none."""
    if seen is None or not seen.is_feed:
        return replace(feed, cleanliness=cleanliness(feed.url))
    facts = seen.facts
    if facts is None:
        return replace(feed, is_fetched=True, cleanliness=cleanliness(feed.url))
    return replace(
        feed,
        is_fetched=True,
        title=feed.title or facts.title or None,  # a page tells its feeds apart better
        type=_TYPES.get(facts.format[:4], "application/rss+xml"),
        format=format_name(facts.format),
        entries=facts.entries,
        last_post=facts.last_post,
        language=facts.language,
        cleanliness=cleanliness(feed.url),
    )


def group_formats(feeds: Iterable[FoundFeed], seen: dict[str, FeedFacts]) -> tuple[FoundFeed, ...]:
    """The feeds with one for each blog: the best of its formats; the others are its alternatives."""
    groups: list[list[FoundFeed]] = []
    for feed in feeds:
        facts = seen.get(feed.url)
        group = None
        if facts is not None and facts.items:
            group = next(
                (
                    one
                    for one in groups
                    if (first := seen.get(one[0].url)) is not None
                    and first.items
                    and one[0].is_comments == feed.is_comments
                    and same_blog(first, facts)
                ),
                None,
            )
        if group is None:
            groups.append([feed])
        else:
            group.append(feed)
    return tuple(_best_of(group, seen) for group in groups)


def _best_of(group: list[FoundFeed], seen: dict[str, FeedFacts]) -> FoundFeed:
    if len(group) == 1:
        return group[0]
    best, why = best_format([seen[feed.url] for feed in group])
    others = tuple(feed.url for number, feed in enumerate(group) if number != best)
    return replace(group[best], alternatives=others, chosen_for=why)


def _key(entry: ParsedEntry) -> str:
    """What an entry is called in every format: its link, else its title and date."""
    return _bare(entry.link) or f"{_title(entry)} {entry.published or entry.updated or entry.id}"


def _bare(url: str | None) -> str:
    link = canonical_link(url, "feed-aggressive") if url else None
    return (link or "").partition("://")[2].rstrip("/")


def _file(entry: ParsedEntry) -> str:
    """The file name of the first enclosure: the same in every format, and behind every counter of downloads."""
    url = entry.enclosures[0].url if entry.enclosures else ""
    return url.partition("?")[0].rpartition("/")[2]


def _title(entry: ParsedEntry) -> str:
    return _plain(entry.title.value if entry.title else "").lower()


def _plain(text: str) -> str:
    return clean_text(text, _TITLE_CHARS)


def _text_chars(entry: ParsedEntry) -> int:
    texts = [content.value for content in entry.contents]
    if entry.summary is not None:
        texts.append(entry.summary.value)
    return max(map(len, texts), default=0)
