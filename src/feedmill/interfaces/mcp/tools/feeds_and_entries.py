"""Tools list_feeds, get_feed, explain_feed, list_entries, get_entry and discover_feeds."""
# Tested in tests/integration/interfaces/mcp/

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries, subscriptions
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.mcp.tool import (
    Call,
    ItemId,
    ToolCursor,
    ToolLimit,
    mcp_state_of,
    page_size,
    tool,
)
from feedmill.interfaces.mcp.untrusted import (
    NOTICE,
    TITLE_CHARS,
    URL_CHARS,
    Row,
    entry_row,
)
from feedmill.model.addresses import mask_address
from feedmill.model.base import fields_of
from feedmill.model.page import Duplicates, EntryFilter, EntryOrder
from feedmill.publish.shapes import DiscoverWish, FeedShape
from feedmill.screen.language import clean_line
from feedmill.search.query import MAX_QUERY_CHARS, parse_query

_ALIASES: Final = 50
_ENCLOSURES: Final = 50
_WORDS_CHARS: Final = 500


@tool("List feeds", "read", reads=True)
async def list_feeds(
    call: Call, tag: str | None = None, cursor: ToolCursor = None, limit: ToolLimit = None
) -> Row:
    """List subscriptions with id, health and next poll. Filter by tag; paginated."""
    services = mcp_state_of(call).services
    return await feeds_page(services, page_size(limit, services), tag=tag, cursor=cursor)


@tool("Show a feed", "read", reads=True)
async def get_feed(call: Call, feed_id: ItemId) -> Row:
    """Show one feed: addresses, state, schedule, last result."""
    feed = await queries.get_feed(feed_id, mcp_state_of(call).services)
    return {
        "feed": feed_row(feed),
        "type": feed.type,
        **fields_of(feed.schedule, "interval_sec reason"),
        **fields_of(
            feed.stats, "last_result last_status consecutive_failures new_entries_last_fetch"
        ),
        "untrusted": {
            "site_url": clean_line(feed.site_url or "", URL_CHARS),
            "aliases": [clean_line(url, URL_CHARS) for url in feed.aliases[:_ALIASES]],
            "last_detail": clean_line(feed.stats.last_detail or "", _WORDS_CHARS),
        },
        "notice": NOTICE,
    }


@tool("Explain a feed", "read", reads=True)
async def explain_feed(call: Call, feed_id: ItemId) -> Row:
    """Explain the health of a feed, its problem and its schedule."""
    services = mcp_state_of(call).services
    health = await queries.health(feed_id, services)
    decisions = await queries.schedule(feed_id, services, limit=1)
    return fields_of(
        health,
        "feed_id kind health reason since next_poll_at",
        schedule=[clean_line(word, _WORDS_CHARS) for one in decisions.items for word in one.words],
        untrusted={
            "url": clean_line(health.url, URL_CHARS),
            "detail": clean_line(health.detail or "", _WORDS_CHARS),
            "words": [clean_line(word, _WORDS_CHARS) for word in health.words],
        },
        notice=NOTICE,
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
) -> Row:
    """List or search stored entries, newest or best match first, each article once; summaries are truncated, see get_entry."""
    services = mcp_state_of(call).services
    if any(
        at is not None and at.tzinfo is None
        for at in (since, until, published_since, published_until)
    ):
        message = "a time needs a UTC offset, as in 2026-03-01T00:00:00Z"
        raise UsageError(message)
    if feed_id is not None:
        await queries.require_feed(feed_id, services)
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
    return {"entries": rows, "next_cursor": page.next, "notice": NOTICE}


@tool("Show an entry", "read", reads=True)
async def get_entry(
    call: Call, entry_uid: ItemId, max_chars: Annotated[int, Field(ge=100, le=100_000)] = 10_000
) -> Row:
    """Show one stored entry with its text, without markup, up to `max_chars`."""
    services = mcp_state_of(call).services
    entry = await queries.entry(entry_uid, services)
    content = clean_line(entry.content or "", max_chars + 1)
    return {
        "entry": entry_row(entry, await _title(entry.feed_id, services), max_chars=max_chars),
        "revision": entry.revisions,
        "untrusted": {
            "content": content[:max_chars],
            "authors": [clean_line(one.name or "", TITLE_CHARS) for one in entry.authors],
            "enclosures": [
                clean_line(one.url, URL_CHARS) for one in entry.enclosures[:_ENCLOSURES]
            ],
        },
        "is_cut": len(content) > max_chars,
        "notice": NOTICE,
    }


async def feeds_page(
    services: Services, limit: int, *, tag: str | None = None, cursor: str | None = None
) -> Row:
    """A page of subscriptions."""
    page = await queries.list_feeds(services, tag=tag, cursor=cursor, limit=limit)
    rows = [feed_row(feed) for feed in page.items]
    return {"feeds": rows, "next_cursor": page.next, "notice": NOTICE}


def feed_row(feed: FeedShape) -> Row:
    """A subscription, in short."""
    return {
        "feed_id": feed.id,
        **fields_of(feed, "health paused tags"),
        "next_poll_at": feed.schedule.next_poll_at,
        "last_success_at": feed.stats.last_success_at,
        "untrusted": {
            "title": clean_line(feed.title or "", TITLE_CHARS),
            "url": clean_line(mask_address(feed.url), URL_CHARS),
        },
    }


async def _title(feed_id: str, services: Services) -> str:
    try:
        return (await queries.require_feed(feed_id, services)).title or ""
    except NotFoundError:  # given up since
        return ""


@tool("Discover feeds", "write", reads=True, open_world=True)
async def discover_feeds(
    call: Call,
    url: Annotated[str, Field(max_length=4_096, description="A page, a feed or a handle.")],
    budget: Annotated[int | None, Field(ge=0, le=100, description="Most requests.")] = None,
) -> Row:
    """List the feeds that an address leads to. Sends requests; subscribes to nothing."""
    wish = DiscoverWish(url=url, budget=budget)
    found = await subscriptions.discover(wish, mcp_state_of(call).services)
    return fields_of(
        found,
        "feeds reason words requests",
        feeds=[
            fields_of(
                feed,
                "found_by is_fetched format entries last_post is_comments",
                untrusted={
                    "url": clean_line(feed.url, URL_CHARS),
                    "title": clean_line(feed.title or "", TITLE_CHARS),
                    "alternatives": [clean_line(one, URL_CHARS) for one in feed.alternatives],
                },
            )
            for feed in found.feeds
        ],
        tried=len(found.tried),
        not_tried=len(found.untried),
    )
