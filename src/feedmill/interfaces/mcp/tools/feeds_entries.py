"""Tools that only look: feeds and entries, through the questions that every door asks."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import World
from feedmill.engine.service import queries
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.mcp.shapes import (
    EntryAnswer,
    EntryList,
    FeedAnswer,
    FeedList,
    FeedRow,
    FeedWords,
)
from feedmill.interfaces.mcp.state import Call, doorway_of
from feedmill.interfaces.mcp.tool import tool
from feedmill.interfaces.mcp.untrusted import TITLE_CHARS, URL_CHARS, entry_shape
from feedmill.model.entry_filter import EntryFilter
from feedmill.publish.shapes import FeedShape
from feedmill.screen.texts import scrub

Cursor = Annotated[
    str | None, Field(max_length=1_000, description="`next_cursor` of the page before.")
]
Limit = Annotated[int | None, Field(ge=1, le=200, description="Items of a page.")]
Id = Annotated[str, Field(min_length=1, max_length=200)]

_ALIASES: Final = 50
_WORDS_CHARS: Final = 500


@tool("List feeds", "read", reads=True)
async def list_feeds(
    call: Call, tag: str | None = None, cursor: Cursor = None, limit: Limit = None
) -> FeedList:
    """List subscriptions: id, health, when each is polled next. Filter by tag; pages by cursor."""
    world = doorway_of(call).world
    page = await queries.list_feeds(world, tag=tag, cursor=cursor, limit=_size(limit, world))
    return FeedList(feeds=[_row(feed) for feed in page.items], next_cursor=page.next)


@tool("Show a feed", "read", reads=True)
async def get_feed(call: Call, feed_id: Id) -> FeedAnswer:
    """Show what is known about one feed: addresses, state, schedule, last result."""
    feed = await queries.get_feed(feed_id, doorway_of(call).world)
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
            "site_url": scrub(feed.site_url or "", URL_CHARS),
            "aliases": [scrub(url, URL_CHARS) for url in feed.aliases[:_ALIASES]],
            "last_detail": scrub(feed.stats.last_detail or "", _WORDS_CHARS),
        },
    )


@tool("Explain a feed", "read", reads=True)
async def explain_feed(call: Call, feed_id: Id) -> FeedWords:
    """Say in words how a feed is, what is wrong with it, and why it is polled when it is."""
    world = doorway_of(call).world
    health = await queries.health(feed_id, world)
    decisions = await queries.schedule(feed_id, world, limit=1)
    return FeedWords(
        feed_id=health.feed_id,
        kind=health.kind,
        health=health.health,
        reason=health.reason,
        since=health.since,
        next_poll_at=health.next_poll_at,
        schedule=[scrub(word, _WORDS_CHARS) for one in decisions.items for word in one.words],
        untrusted={
            "url": scrub(health.url, URL_CHARS),
            "detail": scrub(health.detail or "", _WORDS_CHARS),
            "words": [scrub(word, _WORDS_CHARS) for word in health.words],
        },
    )


@tool("List entries", "read", reads=True)
async def list_entries(  # each is a filter
    call: Call,
    feed_id: str | None = None,
    tag: str | None = None,
    text: Annotated[str | None, Field(description="The beginning of a word in the title.")] = None,
    since: Annotated[datetime | None, Field(description="First seen at or after this.")] = None,
    until: Annotated[datetime | None, Field(description="First seen before this.")] = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> EntryList:
    """List stored entries, the latest arrivals first; summaries are cut, get_entry has the rest."""
    world = doorway_of(call).world
    if any(at is not None and at.tzinfo is None for at in (since, until)):
        message = "an instant needs its offset, as in 2026-03-01T00:00:00Z"
        raise UsageError(message)
    where = EntryFilter(feed_id=feed_id, tag=tag, text=text, since=since, until=until)
    page = await queries.entries(where, world, cursor=cursor, limit=_size(limit, world))
    titles = {one: await _title(one, world) for one in {entry.feed_id for entry in page.items}}
    most = world.config.mcp.text_chars
    rows = [entry_shape(entry, titles[entry.feed_id], max_chars=most) for entry in page.items]
    return EntryList(entries=rows, next_cursor=page.next)


@tool("Show an entry", "read", reads=True)
async def get_entry(
    call: Call,
    entry_uid: Id,
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = 10_000,
) -> EntryAnswer:
    """Show one stored entry with its text, without markup, up to `max_chars`."""
    world = doorway_of(call).world
    entry = await queries.entry(entry_uid, world)
    content = scrub(entry.content or "", max_chars + 1)
    return EntryAnswer(
        entry=entry_shape(entry, await _title(entry.feed_id, world), max_chars=max_chars),
        revision=entry.revisions,
        untrusted={
            "content": content[:max_chars],
            "authors": [scrub(one.name or "", TITLE_CHARS) for one in entry.authors],
            "enclosures": [scrub(one.url, URL_CHARS) for one in entry.enclosures[:_ALIASES]],
        },
        is_cut=len(content) > max_chars,
    )


LOOKING: Final = (list_feeds, get_feed, explain_feed, list_entries, get_entry)


def _row(feed: FeedShape) -> FeedRow:
    return FeedRow(
        feed_id=feed.id,
        health=feed.health,
        paused=feed.paused,
        tags=list(feed.tags),
        next_poll_at=feed.schedule.next_poll_at,
        last_success_at=feed.stats.last_success_at,
        untrusted={
            "title": scrub(feed.title or "", TITLE_CHARS),
            "url": scrub(feed.url, URL_CHARS),
        },
    )


async def _title(feed_id: str, world: World) -> str:
    try:
        return (await queries.feed_of(feed_id, world)).title or ""
    except NotFoundError:  # given up since
        return ""


def _size(limit: int | None, world: World) -> int:
    most = world.config.mcp.page_items
    return most if limit is None else min(limit, most)
