"""Tools list_entries and get_entry."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.mcp.shapes import EntryAnswer, EntryList
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
from feedmill.model.base import EntryFilter
from feedmill.screen.texts import clean_line

_ENCLOSURES: Final = 50


@tool("List entries", "read", reads=True)
async def list_entries(  # each is a filter
    call: Call,
    feed_id: str | None = None,
    tag: str | None = None,
    text: Annotated[str | None, Field(description="Start of a word in the title.")] = None,
    since: Annotated[datetime | None, Field(description="First seen at or after this.")] = None,
    until: Annotated[datetime | None, Field(description="First seen before this.")] = None,
    cursor: ToolCursor = None,
    limit: ToolLimit = None,
) -> EntryList:
    """List stored entries, newest arrivals first; summaries are truncated, see get_entry."""
    services = mcp_state_of(call).services
    if any(at is not None and at.tzinfo is None for at in (since, until)):
        message = "a time needs a UTC offset, as in 2026-03-01T00:00:00Z"
        raise UsageError(message)
    where = EntryFilter(feed_id=feed_id, tag=tag, text=text, since=since, until=until)
    page = await queries.entries(where, services, cursor=cursor, limit=page_size(limit, services))
    titles = {one: await _title(one, services) for one in {entry.feed_id for entry in page.items}}
    most = services.config.mcp.text_chars
    rows = [entry_row(entry, titles[entry.feed_id], max_chars=most) for entry in page.items]
    return EntryList(entries=rows, next_cursor=page.next)


@tool("Show an entry", "read", reads=True)
async def get_entry(
    call: Call, entry_uid: ItemId, max_chars: Annotated[int, Field(ge=100, le=100_000)] = 10_000
) -> EntryAnswer:
    """Show one stored entry with its text, without markup, up to `max_chars`."""
    services = mcp_state_of(call).services
    entry = await queries.entry(entry_uid, services)
    content = clean_line(entry.content or "", max_chars + 1)
    return EntryAnswer(
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


async def _title(feed_id: str, services: Services) -> str:
    try:
        return (await queries.require_feed(feed_id, services)).title or ""
    except NotFoundError:  # given up since
        return ""
