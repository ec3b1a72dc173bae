"""Tools list_feeds, get_feed, explain_feed, list_entries and get_entry."""
# Tested in tests/integration/interfaces/mcp/

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.mcp import shapes
from feedmill.interfaces.mcp.tool import (
    Call,
    ItemId,
    ToolCursor,
    ToolLimit,
    mcp_state_of,
    page_size,
    tool,
)
from feedmill.interfaces.mcp.untrusted import TITLE_CHARS, URL_CHARS, entry_row
from feedmill.model.addresses import mask_address
from feedmill.model.page import Duplicates, EntryFilter, EntryOrder
from feedmill.publish.shapes import FeedShape
from feedmill.screen.texts import clean_line
from feedmill.search.query import MAX_QUERY_CHARS, parse_query

_ALIASES: Final = 50
_ENCLOSURES: Final = 50
_WORDS_CHARS: Final = 500


@tool("List feeds", "read", reads=True)
async def list_feeds(
    call: Call, tag: str | None = None, cursor: ToolCursor = None, limit: ToolLimit = None
) -> shapes.FeedList:
    """List subscriptions with id, health and next poll. Filter by tag; paginated."""
    services = mcp_state_of(call).services
    page = await queries.list_feeds(
        services, tag=tag, cursor=cursor, limit=page_size(limit, services)
    )
    return shapes.FeedList(feeds=[feed_row(feed) for feed in page.items], next_cursor=page.next)


@tool("Show a feed", "read", reads=True)
async def get_feed(call: Call, feed_id: ItemId) -> shapes.FeedAnswer:
    """Show one feed: addresses, state, schedule, last result."""
    feed = await queries.get_feed(feed_id, mcp_state_of(call).services)
    return shapes.row_of(
        shapes.FeedAnswer,
        feed.stats,
        feed=feed_row(feed),
        type=feed.type,
        interval_sec=feed.schedule.interval_sec,
        reason=feed.schedule.reason,
        untrusted={
            "site_url": clean_line(feed.site_url or "", URL_CHARS),
            "aliases": [clean_line(url, URL_CHARS) for url in feed.aliases[:_ALIASES]],
            "last_detail": clean_line(feed.stats.last_detail or "", _WORDS_CHARS),
        },
    )


@tool("Explain a feed", "read", reads=True)
async def explain_feed(call: Call, feed_id: ItemId) -> shapes.FeedExplanation:
    """Explain the health of a feed, its problem and its schedule."""
    services = mcp_state_of(call).services
    health = await queries.health(feed_id, services)
    decisions = await queries.schedule(feed_id, services, limit=1)
    return shapes.row_of(
        shapes.FeedExplanation,
        health,
        schedule=[clean_line(word, _WORDS_CHARS) for one in decisions.items for word in one.words],
        untrusted={
            "url": clean_line(health.url, URL_CHARS),
            "detail": clean_line(health.detail or "", _WORDS_CHARS),
            "words": [clean_line(word, _WORDS_CHARS) for word in health.words],
        },
    )


@tool("List entries", "read", reads=True)
async def list_entries(  # each is a filter
    call: Call,
    feed_id: str | None = None,
    tag: str | None = None,
    query: Annotated[
        str | None,
        Field(
            description='Full-text search: words that all have to be there, "phrases", -excluded, prefix*.',
            max_length=MAX_QUERY_CHARS,
        ),
    ] = None,
    full_texts: Annotated[
        bool, Field(description="Search in full texts of web pages, too.")
    ] = False,
    text: Annotated[str | None, Field(description="Start of a word in the title.")] = None,
    category: str | None = None,
    author: Annotated[str | None, Field(description="A name or an e-mail address.")] = None,
    language: Annotated[str | None, Field(description="en matches en-GB.")] = None,
    has_enclosure: bool | None = None,
    since: Annotated[datetime | None, Field(description="First seen at or after this.")] = None,
    until: Annotated[datetime | None, Field(description="First seen before this.")] = None,
    published_since: Annotated[datetime | None, Field(description="Published at or after.")] = None,
    published_until: Annotated[datetime | None, Field(description="Published before this.")] = None,
    include_removed: bool = False,
    order: Annotated[
        EntryOrder | None, Field(description="Default: published; of a query relevance.")
    ] = None,
    oldest_first: bool = False,
    duplicates: Duplicates = "hide",
    cursor: ToolCursor = None,
    limit: ToolLimit = None,
) -> shapes.EntryList:
    """List or search stored entries, newest or best match first, each article once; summaries are truncated, see get_entry."""
    services = mcp_state_of(call).services
    if any(
        at is not None and at.tzinfo is None
        for at in (since, until, published_since, published_until)
    ):
        message = "a time needs a UTC offset, as in 2026-03-01T00:00:00Z"
        raise UsageError(message)
    where = EntryFilter(
        feed_id=feed_id,
        tag=tag,
        text=text,
        category=category,
        author=author,
        language=language,
        has_enclosure=has_enclosure,
        since=since,
        until=until,
        published_since=published_since,
        published_until=published_until,
        include_removed=include_removed,
        query=None if query is None else parse_query(query, full_texts=full_texts),
        order=order or ("published" if query is None else "relevance"),
        ascending=oldest_first,
        duplicates=duplicates,
    )
    page = await queries.entries(where, services, cursor=cursor, limit=page_size(limit, services))
    titles = {one: await _title(one, services) for one in {entry.feed_id for entry in page.items}}
    most = services.config.mcp.text_chars
    rows = [entry_row(entry, titles[entry.feed_id], max_chars=most) for entry in page.items]
    return shapes.EntryList(entries=rows, next_cursor=page.next)


@tool("Show an entry", "read", reads=True)
async def get_entry(
    call: Call, entry_uid: ItemId, max_chars: Annotated[int, Field(ge=100, le=100_000)] = 10_000
) -> shapes.EntryAnswer:
    """Show one stored entry with its text, without markup, up to `max_chars`."""
    services = mcp_state_of(call).services
    entry = await queries.entry(entry_uid, services)
    content = clean_line(entry.content or "", max_chars + 1)
    return shapes.EntryAnswer(
        entry=entry_row(entry, await _title(entry.feed_id, services), max_chars=max_chars),
        revision=entry.revisions,
        untrusted={
            "content": content[:max_chars],
            "authors": [clean_line(one.name or "", TITLE_CHARS) for one in entry.authors],
            "enclosures": [
                clean_line(one.url, URL_CHARS) for one in entry.enclosures[:_ENCLOSURES]
            ],
        },
        is_cut=len(content) > max_chars,
    )


def feed_row(feed: FeedShape) -> shapes.FeedRow:
    """A subscription, in short."""
    return shapes.FeedRow(
        feed_id=feed.id,
        health=feed.health,
        paused=feed.paused,
        tags=list(feed.tags),
        next_poll_at=feed.schedule.next_poll_at,
        last_success_at=feed.stats.last_success_at,
        untrusted={
            "title": clean_line(feed.title or "", TITLE_CHARS),
            "url": clean_line(mask_address(feed.url), URL_CHARS),
        },
    )


async def _title(feed_id: str, services: Services) -> str:
    try:
        return (await queries.require_feed(feed_id, services)).title or ""
    except NotFoundError:  # given up since
        return ""
