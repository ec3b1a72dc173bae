"""Read and write operations on feeds, entries, clusters, events, positions of readers and raw documents, shared by REST, gRPC and MCP.

Each function takes plain arguments and the services, and returns a shape of `publish.shapes`. What
does not exist is a NotFoundError, an invalid argument a UsageError; the interface translates them.
Cursors go out opaque and come back checked.
"""
# Tested in tests/integration/interfaces/rest/

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_health import describe_health
from feedmill.engine.service.hosts import hold_in_words, unsubscribe_feed
from feedmill.errors import (
    ConflictError,
    NotFoundError,
    NotKeptError,
    UsageError,
    required,
)
from feedmill.media.select import rules_of
from feedmill.model.base import filled
from feedmill.model.derived.fetched import MediaRules
from feedmill.model.derived.search import SearchQuery
from feedmill.model.event import Event, StoredEntry
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.page import EntryFilter, LinePage, check_filter, check_text
from feedmill.model.schedule import Decision
from feedmill.publish import shapes
from feedmill.publish.events import event_of_removed_feed
from feedmill.publish.to_json import read_cursor, write_cursor
from feedmill.publish.to_shapes import decision_shape, feed_detail, feed_shape, fetch_shape, to_utc
from feedmill.schedule.explain import explain_decision
from feedmill.schedule.follow_up import backfill_job, is_backfilled, select_job, wants_media

MAX_PAGE_ITEMS: Final = 1_000  # items of a page
DEFAULT_PAGE_ITEMS: Final = 100
_MAX_BATCHES: Final = 20  # batches of the log that one request reads when a filter drops most of it
_REWOUND: Final = (
    "the store was restored from a backup, or it is another one; read again from an earlier"
    " number (0 for all), and recognise what you have by entry_uid"
)
_OWN: Final = frozenset(FeedOverrides.__struct_fields__)


class RawContent(NamedTuple):
    """The exact bytes of a document or of an entry in it, and the fetch that brought them."""

    body: bytes
    fetch: FetchRecord
    offset: int = 0

    @property
    def document(self) -> RawDocument:
        """The bytes as the parser takes them."""
        fetch = self.fetch
        return RawDocument(body=self.body, url=fetch.final_url, content_type=fetch.content_type)


W = TypeVar("W", bound=str)


def clamp_limit(limit: int | None) -> int:
    """How many items a page has: what was asked for, within 1 and 1,000."""
    return DEFAULT_PAGE_ITEMS if limit is None else min(max(limit, 1), MAX_PAGE_ITEMS)


def one_of(given: str | None, choices: Sequence[W], what: str) -> W | None:
    """The choice of that word, None for none; UsageError for another word."""
    if given is None:
        return None
    for one in choices:
        if one == given:
            return one
    message = f"{given!r} is not a {what}; use one of: {', '.join(choices)}"
    raise UsageError(message)


# feeds


async def list_feeds(
    services: Services,
    *,
    tag: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> shapes.FeedPage:
    """Subscriptions in the order in which they were added."""
    check_text("tag", tag)
    page = await services.store.feeds(
        tag=tag, after=read_cursor("feeds", cursor), limit=clamp_limit(limit)
    )
    items = tuple(feed_shape(feed, services.config.schedule) for feed in page.items)
    return shapes.FeedPage(items=items, next=write_cursor("feeds", page.next))


async def get_feed(feed_id: str, services: Services) -> shapes.FeedDetail:
    """One feed with all its addresses."""
    feed = await require_feed(feed_id, services)
    aliases = await services.store.aliases(feed.id)
    return feed_detail(feed, aliases, services.config.schedule)


async def change_feed(
    feed_id: str, change: shapes.FeedChange, services: Services
) -> shapes.FeedDetail:
    """The feed as it is after the change; one that is resumed is due at once."""
    before = await require_feed(feed_id, services)
    given = {
        name: value
        for name in change.__struct_fields__
        if (value := getattr(change, name)) is not UNSET
    }
    own = replace(before.overrides, **{key: given.pop(key) for key in _OWN & given.keys()})
    check_intervals(own)
    if "tags" in given:
        given["tags"] = tuple(sorted(set(given["tags"])))
    after = replace(before, overrides=own, **given)
    await services.store.change_feed(after)
    if before.paused and not after.paused:
        await services.store.make_due([feed_id], services.clock.now())
    if is_backfilled(after, services.config.backfill):
        await services.store.add_job(backfill_job(after), now=services.clock.now())
    wanted = wants_media(after, services.config.media)
    if wanted and rules_of(after, services.config.media) != _media_rules(before, services):
        await services.store.add_job(select_job(after.id), now=services.clock.now())
    return await get_feed(feed_id, services)


def _media_rules(feed: Feed, services: Services) -> MediaRules | None:
    config = services.config.media
    return rules_of(feed, config) if wants_media(feed, config) else None


async def remove_feed(feed_id: str, services: Services) -> None:
    """Remove a subscription and its entries."""
    feed = await require_feed(feed_id, services)
    await unsubscribe_feed(feed, services)
    event = event_of_removed_feed(feed, now=services.clock.now())
    await services.store.remove_feed(feed.id, (event,))


async def refetch(feed_id: str, services: Services) -> shapes.Refetch:
    """Make a feed due: a running scheduler polls it as soon as its host's pace allows."""
    feed = await require_feed(feed_id, services)
    if feed.paused:
        message = f"the feed {feed_id} is paused"
        raise ConflictError(message, reason="paused", hint="resume it: PATCH with paused false")
    await services.store.make_due([feed.id], services.clock.now())
    due = await require_feed(feed_id, services)
    return shapes.Refetch(feed_id=due.id, next_poll_at=to_utc(due.next_poll_at))


async def schedule(
    feed_id: str, services: Services, *, limit: int | None = None
) -> shapes.DecisionPage:
    """Why the feed is polled when it is, the newest decision first, in figures and in words."""
    feed = await require_feed(feed_id, services)
    told = await explain_schedule(feed, services, limit=clamp_limit(limit))
    return shapes.DecisionPage(items=tuple(decision_shape(one, words) for one, words in told))


async def explain_schedule(
    feed: Feed, services: Services, *, limit: int
) -> list[tuple[Decision, tuple[str, ...]]]:
    """The newest decisions in words, the last one with what holds the feed back since."""
    decisions = await services.store.decisions(feed.id, limit=limit)
    told = [(one, explain_decision(one)) for one in decisions]
    hold = await hold_in_words(feed, services) if told else None
    if hold is not None:
        told[0] = (told[0][0], (*told[0][1], hold))
    return told


async def health(feed_id: str, services: Services) -> shapes.HealthShape:
    """The health of the feed: what is wrong, since when, what was tried, what comes next."""
    return await describe_health(await require_feed(feed_id, services), services)


# entries


async def entries(
    where: EntryFilter, services: Services, *, cursor: str | None = None, limit: int | None = None
) -> shapes.EntryPage:
    """Entries that the filter lets through, in its order; those of a search with what it found."""
    check_filter(where)
    if where.query is not None:
        check_searchable(services)
    kind = _cursor_kind(where)
    page = await services.store.entries(
        where, after=read_cursor(kind, cursor), limit=clamp_limit(limit)
    )
    items = page.items
    if where.query is not None:
        items = await with_highlights(items, where.query, services)
    return shapes.EntryPage(items=items, next=write_cursor(kind, page.next))


async def entry_texts(
    where: EntryFilter, services: Services, *, cursor: str | None = None, limit: int | None = None
) -> LinePage:
    """The same for an interface that returns JSON: every entry is encoded already."""
    if where.query is not None:
        found = await entries(where, services, cursor=cursor, limit=limit)
        lines = b"\n".join(map(msgspec.json.encode, found.items))
        return LinePage(lines=lines, next=found.next)
    check_filter(where)
    kind = _cursor_kind(where)
    page = await services.store.entry_texts(
        where, after=read_cursor(kind, cursor), limit=clamp_limit(limit)
    )
    return LinePage(lines=page.lines, next=write_cursor(kind, page.next))


def _cursor_kind(where: EntryFilter) -> str:
    """A place among scores means nothing by time, nor in another search."""
    if where.order == "relevance":
        return f"entries-{crc32(repr(where.query).encode()):08x}"
    return "entries" if where.order == "first_seen" else f"entries-{where.order}"


async def entry(entry_uid: str, services: Services) -> shapes.EntryShape:
    """One entry."""
    return required(await services.store.entry(entry_uid), f"there is no entry {entry_uid[:200]!r}")


async def revisions(entry_uid: str, services: Services) -> shapes.RevisionPage:
    """Earlier states of an entry, the oldest first."""
    found = await entry(entry_uid, services)
    return shapes.RevisionPage(items=await services.store.revisions(found.entry_uid))


async def entry_raw(entry_uid: str, services: Services) -> RawContent:
    """The exact bytes of an entry as they stood in the document; the whole of it when unknown."""
    found = await entry(entry_uid, services)
    if not found.raw_refs:
        message = f"the entry {entry_uid} did not come from a document"
        raise NotFoundError(message)
    ref = found.raw_refs[0]
    whole = await raw(ref.fetch_id, services)
    if ref.offset is None or ref.length is None:
        return whole
    return RawContent(whole.body[ref.offset : ref.offset + ref.length], whole.fetch, ref.offset)


async def raw(fetch_id: str, services: Services) -> RawContent:
    """The exact bytes that a fetch brought, with its headers."""
    found = await _fetch(fetch_id, services)
    if found.body_sha256 is None:
        message = f"the fetch {fetch_id} brought no document ({found.outcome})"
        raise NotFoundError(message)
    document = await load_document(found, services.store, services.blobs)
    if document is None:
        message = f"the document of fetch {fetch_id} is not kept any more"
        raise NotKeptError(message)
    return RawContent(document.body, found)


async def fetch(fetch_id: str, services: Services) -> shapes.FetchShape:
    """One poll with its headers in order; credentials were never kept."""
    return fetch_shape(await _fetch(fetch_id, services), services.config.blobs.url)


async def _fetch(fetch_id: str, services: Services) -> FetchRecord:
    return required(await services.store.fetch(fetch_id), f"there is no fetch {fetch_id[:200]!r}")


async def articles(
    services: Services, *, cursor: str | None = None, limit: int | None = None
) -> shapes.ArticlePage:
    """Articles: each once however many feeds carried it, the latest first."""
    page = await services.store.article_page(
        after=read_cursor("articles", cursor), limit=clamp_limit(limit)
    )
    return shapes.ArticlePage(items=page.items, next=write_cursor("articles", page.next))


# clusters


async def list_clusters(
    services: Services, *, min_feeds: int = 2, cursor: str | None = None, limit: int | None = None
) -> shapes.ClusterPage:
    """Stories that at least `min_feeds` feeds tell, the one that grew last first."""
    if min_feeds < 2:
        message = f"a story is told by at least 2 feeds, not {min_feeds}"
        raise UsageError(message)
    page = await services.store.clusters(
        min_feeds=min_feeds, after=read_cursor("clusters", cursor), limit=clamp_limit(limit)
    )
    return shapes.ClusterPage(items=page.items, next=write_cursor("clusters", page.next))


async def get_cluster(cluster_id: str, services: Services) -> shapes.ClusterDetail:
    """One story with the entries that tell it."""
    found = await services.store.cluster(cluster_id)
    known = required(found, f"there is no cluster {cluster_id}", "list them: feedmill clusters")
    members = await services.store.cluster_members(cluster_id)
    return filled(shapes.ClusterDetail, known, members=members)


# events


async def events(
    services: Services,
    *,
    after: int = 0,
    types: Sequence[str] = (),
    feed_ids: Sequence[str] = (),
    limit: int | None = None,
) -> shapes.EventPage:
    """Events after a number, in order; `next` is how far the log was read, filter or no filter.

    A filter does not hide `log.rewound`. ConflictError for a number that the log has not reached.
    """
    most, found, last = clamp_limit(limit), list[shapes.EventShape](), after
    for _ in range(_MAX_BATCHES):
        batch = await services.store.events(
            after=last, limit=MAX_PAGE_ITEMS if types or feed_ids else most
        )
        for event in batch:
            last = event.seq
            if event.type == "log.rewound" or (
                (not types or event.type in types) and (not feed_ids or event.feed_id in feed_ids)
            ):
                found.append(event)
                if len(found) == most:
                    break
        if not batch or len(found) == most:
            break
    last_seq = await services.store.last_seq()
    if last > last_seq:
        raise _beyond_end(after, last_seq)
    return shapes.EventPage(items=tuple(found), next=last, last_seq=last_seq)


async def check_position(
    services: Services, after: int, after_id: str | None = None, *, whole: bool = True
) -> None:
    """ConflictError when the log has not reached this number, or has another event there; NotKeptError after a loss.

    A cursor beyond the end is of a log that went back, or of another one: waiting there would skip in
    silence whatever gets those numbers next. What came right after a number may have been deleted by age: that is said too,
    unless what is left is asked for (0, or `whole` is false).
    """
    if not after:
        return
    near = await services.store.events(after=min(after, shapes.MAX_SEQ) - 1, limit=2)
    if near and near[0].seq == after and after_id not in (None, near[0].id):
        message = f"event {after} is not {after_id} in this log: it went back"
        raise ConflictError(message, reason="log-rewound", hint=_REWOUND)
    coming = [one for one in near if one.seq > after]
    if not near:
        last = await services.store.last_seq()
        if after > last:
            raise _beyond_end(after, last)
        if after < last:  # perhaps an event has got its number since
            coming = [*await services.store.events(after=after, limit=1)]
            if not coming and whole:
                raise _not_kept(after, last + 1)
    if whole and coming and not _follows(coming[0], after):
        raise _not_kept(after, coming[0].seq)


def _follows(event: Event, after: int) -> bool:
    """Whether no event ever stood between; `log.rewound` leaps from where the log had ended."""
    if event.type == "log.rewound":
        return int(event.data["log_ended_at"]) <= after
    return event.seq == after + 1


def _not_kept(after: int, found: int) -> NotKeptError:
    message = f"the events between {after} and {found} were deleted by retention"
    return NotKeptError(message, "ask after 0 for all remaining events")


def _beyond_end(after: int, last: int) -> ConflictError:
    message = f"event {after} does not exist: the log ends at {last}"
    return ConflictError(message, reason="log-rewound", hint=_REWOUND)


# lists, and everything else


async def ready(services: Services) -> shapes.Ready:
    """The store answers; a StoreError says why it does not."""
    return shapes.Ready(ready=True, last_seq=await services.store.last_seq())


async def counts(services: Services) -> shapes.Counts:
    """Counts of rows; an answer proves that the store can be read."""
    store = services.store
    return shapes.Counts(
        counts=await store.counts(),
        last_seq=await store.last_seq(),
        next_due_at=await store.next_due_at(),
    )


async def require_feed(feed_id: str, services: Services) -> Feed:
    """The feed of that id; NotFoundError when there is none."""
    return required(await services.store.feed(feed_id), f"there is no feed {feed_id[:200]!r}")


def check_intervals(own: FeedOverrides | ScheduleConfig) -> None:
    """UsageError when the shortest interval is longer than the longest."""
    shortest, longest = own.min_interval_sec, own.max_interval_sec
    if shortest is not None and longest is not None and shortest > longest:
        message = f"min_interval_sec {shortest} is above max_interval_sec {longest}"
        raise UsageError(message)


async def list_cursors(services: Services) -> shapes.CursorPage:
    """All readers with how far they are behind."""
    return shapes.CursorPage(items=await services.store.cursors())


async def drop_cursor(consumer: str, services: Services) -> None:
    """Delete a position, so that it does not hold events; NotFoundError when there is none."""
    if consumer.startswith("webhook:"):
        message = f"{consumer} is the position of a webhook"
        hint = f"feedmill webhook remove {consumer.removeprefix('webhook:')}"
        raise NotFoundError(message, hint)
    if not await services.store.drop_cursor(consumer):
        message = f"there is no reader {consumer!r}"
        raise NotFoundError(message, "feedmill cursors list")


def check_searchable(services: Services) -> None:
    """ConflictError where search is off."""
    if not services.config.search.enabled:
        message = "search is off: entries are not indexed"
        hint = "set [search] enabled = true, then run `feedmill reindex`"
        raise ConflictError(message, reason="search-off", hint=hint)


async def with_highlights(
    entries: Sequence[StoredEntry], query: SearchQuery, services: Services
) -> tuple[StoredEntry, ...]:
    """The entries, each with what the search found in it."""
    uids = [one.entry_uid for one in entries]
    pages = await services.store.full_texts_of(uids) if query.full_texts else {}

    def texts(entry: StoredEntry) -> tuple[str | None, ...]:
        page = pages.get(entry.entry_uid)
        return entry.summary, entry.content, None if page is None else page.html

    from feedmill.search.query import highlight  # noqa: PLC0415  # its tables take 9 ms at every start

    def marked() -> tuple[StoredEntry, ...]:
        return tuple(
            replace(one, highlight=highlight(query, one.title, texts(one))) for one in entries
        )

    return await asyncio.to_thread(marked)  # a page of long texts takes seconds
