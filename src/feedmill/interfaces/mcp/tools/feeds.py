"""Tools list_feeds, get_feed and explain_feed."""

from typing import Final

from feedmill.engine.service import queries
from feedmill.interfaces.mcp.shapes import FeedAnswer, FeedExplanation, FeedList, FeedRow
from feedmill.interfaces.mcp.tool import (
    Call,
    ItemId,
    ToolCursor,
    ToolLimit,
    mcp_state_of,
    page_size,
    tool,
)
from feedmill.interfaces.mcp.untrusted import TITLE_CHARS, URL_CHARS
from feedmill.publish.shapes import FeedShape
from feedmill.screen.texts import clean_line

_ALIASES: Final = 50
_WORDS_CHARS: Final = 500


@tool("List feeds", "read", reads=True)
async def list_feeds(
    call: Call, tag: str | None = None, cursor: ToolCursor = None, limit: ToolLimit = None
) -> FeedList:
    """List subscriptions with id, health and next poll. Filter by tag; paginated."""
    services = mcp_state_of(call).services
    page = await queries.list_feeds(
        services, tag=tag, cursor=cursor, limit=page_size(limit, services)
    )
    return FeedList(feeds=[_row(feed) for feed in page.items], next_cursor=page.next)


@tool("Show a feed", "read", reads=True)
async def get_feed(call: Call, feed_id: ItemId) -> FeedAnswer:
    """Show one feed: addresses, state, schedule, last result."""
    feed = await queries.get_feed(feed_id, mcp_state_of(call).services)
    return FeedAnswer(
        feed=_row(feed),
        type=feed.type,
        interval_sec=feed.schedule.interval_sec,
        reason=feed.schedule.reason,
        last_result=feed.stats.last_result,
        last_status=feed.stats.last_status,
        consecutive_failures=feed.stats.consecutive_failures,
        new_entries_last_fetch=feed.stats.new_entries_last_fetch,
        untrusted={
            "site_url": clean_line(feed.site_url or "", URL_CHARS),
            "aliases": [clean_line(url, URL_CHARS) for url in feed.aliases[:_ALIASES]],
            "last_detail": clean_line(feed.stats.last_detail or "", _WORDS_CHARS),
        },
    )


@tool("Explain a feed", "read", reads=True)
async def explain_feed(call: Call, feed_id: ItemId) -> FeedExplanation:
    """Explain the health of a feed, its problem and its schedule."""
    services = mcp_state_of(call).services
    health = await queries.health(feed_id, services)
    decisions = await queries.schedule(feed_id, services, limit=1)
    return FeedExplanation(
        feed_id=health.feed_id,
        kind=health.kind,
        health=health.health,
        reason=health.reason,
        since=health.since,
        next_poll_at=health.next_poll_at,
        schedule=[clean_line(word, _WORDS_CHARS) for one in decisions.items for word in one.words],
        untrusted={
            "url": clean_line(health.url, URL_CHARS),
            "detail": clean_line(health.detail or "", _WORDS_CHARS),
            "words": [clean_line(word, _WORDS_CHARS) for word in health.words],
        },
    )


def _row(feed: FeedShape) -> FeedRow:
    return FeedRow(
        feed_id=feed.id,
        health=feed.health,
        paused=feed.paused,
        tags=list(feed.tags),
        next_poll_at=feed.schedule.next_poll_at,
        last_success_at=feed.stats.last_success_at,
        untrusted={
            "title": clean_line(feed.title or "", TITLE_CHARS),
            "url": clean_line(feed.url, URL_CHARS),
        },
    )
