"""Collections: entries by tag, feeds, category or word, page by page, for meta-feeds.

Pages are ordered by arrival, so that nothing is inserted behind a reader; of entries that arrived
together the newest is first (RFC 5005 section 3: the first page is the present).
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.service.full_texts import with_full_content
from feedmill.errors import CursorError
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value, filled
from feedmill.model.event import StoredEntry
from feedmill.model.page import Duplicates, EntryFilter
from feedmill.normalise.html.sanitise import clean_html
from feedmill.publish.metafeeds.items import EntrySource, public_http_url
from feedmill.publish.to_json import read_cursor, write_cursor

_OLDER: Final = "older"  # what follows in the list: RFC 5005 calls it next
_NEWER: Final = "newer"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Collection(Value):
    """A filter over entries; None: not filtered by that."""

    feed_ids: tuple[str, ...] | None = None
    tag: str | None = None
    category: str | None = None
    text: str | None = None  # prefix of a word in the title
    since: datetime | None = None  # first_seen, inclusive
    until: datetime | None = None  # first_seen, exclusive
    full_text: bool | None = None  # True: full texts as content, where there are some
    duplicates: Duplicates | None = None  # None: an article once


class CollectionPage(Value):
    """One page of the answer, with the feeds that its entries came from."""

    title: str
    updated: datetime  # when the newest of these entries came in
    entries: tuple[StoredEntry, ...]
    sources: dict[str, EntrySource]
    language: str | None = None  # the one that all of them are written in
    next: str | None = None
    previous: str | None = None


async def collection_page(
    query: Collection, services: Services, cursor: str | None = None, limit: int = 50
) -> CollectionPage:
    """The newest entries of a collection, or those around a cursor that a page has given."""
    after, before = _position(cursor)
    found = await services.store.entries(filter_of(query), after=after, before=before, limit=limit)
    items = await with_full_content(found.items, services) if query.full_text else found.items
    entries = await asyncio.to_thread(_cleaned, items, services.config.normalise.html_max_depth)
    sources = await _sources(entries, query, services)
    return CollectionPage(
        title=_title(query, sources),
        updated=max((entry.first_seen for entry in entries), default=_EPOCH),
        entries=entries,
        sources=sources,
        language=_language(entries),
        next=write_cursor(_OLDER, found.next),
        previous=write_cursor(_NEWER, found.previous),
    )


def filter_of(
    query: Collection, *, since: datetime | None = None, until: datetime | None = None
) -> EntryFilter:
    """The entries of a collection, or those of them that came in between two instants."""
    return filled(
        EntryFilter,
        query,
        since=max((one for one in (query.since, since) if one), default=None),
        until=min((one for one in (query.until, until) if one), default=None),
        duplicates=query.duplicates or "hide",
    )


def collection_key(query: Collection) -> str:
    """The stable name of a collection: equal filters have equal names."""
    asked = {name: getattr(query, name) for name in query.__struct_fields__}
    if query.feed_ids is not None:
        asked["feed_ids"] = sorted(set(query.feed_ids))
    said = {name: value for name, value in asked.items() if value is not None}
    return msgspec.json.encode(said, order="sorted").decode()


def _position(cursor: str | None) -> tuple[str | None, str | None]:
    """The cursor as a place to go on from, or a place to read up to."""
    try:
        return read_cursor(_OLDER, cursor), None
    except CursorError:
        return None, read_cursor(_NEWER, cursor)


def _cleaned(entries: Sequence[StoredEntry], max_depth: int) -> tuple[StoredEntry, ...]:
    """The entries with their HTML sanitised by today's rules.

    A row may be older than a rule. What is clean is recognised without a tree, so this costs
    little; what the limits cut was cut when it came in.
    """
    return tuple(
        entry
        if entry.content is None
        else replace(
            entry,
            content=clean_html(
                entry.content, max_chars=max(len(entry.content), 1), max_depth=max_depth
            ),
        )
        for entry in entries
    )


async def _sources(
    entries: Sequence[StoredEntry], query: Collection, services: Services
) -> dict[str, EntrySource]:
    """The feeds of the entries; one that is asked for alone also when it has none."""
    alone = query.feed_ids if query.feed_ids is not None and len(query.feed_ids) == 1 else ()
    sources = {}
    for feed_id in dict.fromkeys([*alone, *(entry.feed_id for entry in entries)]):
        feed = await services.store.feed(feed_id)
        if feed is not None:  # else it went between two questions
            sources[feed_id] = EntrySource(
                feed_id=feed_id,
                url=mask_address(feed.url),
                title=feed.title,
                site_url=feed.site_url and mask_address(feed.site_url),
            )
    return sources


def _title(query: Collection, sources: dict[str, EntrySource]) -> str:
    """What a reader shows above the entries."""
    parts = [
        *([] if query.feed_ids is None else [_feeds(query.feed_ids, sources)]),
        *([] if query.tag is None else [query.tag]),
        *([] if query.category is None else [query.category]),
        *([] if query.text is None else [f"“{query.text}”"]),
    ]
    return " · ".join(part for part in parts if part) or "All entries"


def _feeds(feed_ids: Sequence[str], sources: dict[str, EntrySource]) -> str:
    if len(feed_ids) != 1:
        return f"{len(feed_ids)} feeds"
    source = sources.get(feed_ids[0])
    return feed_ids[0] if source is None else source.title or public_http_url(source.url) or ""


def _language(entries: Sequence[StoredEntry]) -> str | None:
    spoken = {entry.language for entry in entries}
    return spoken.pop() if len(spoken) == 1 else None
