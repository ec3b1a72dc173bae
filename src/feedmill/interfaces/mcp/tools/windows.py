"""Tools collect_window and list_windows: the candidates of a time window, and the windows of the home folder."""
# Tested in tests/integration/interfaces/mcp/

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import iterate_feeds
from feedmill.engine.two_phase.candidates import window_between, window_of_last
from feedmill.engine.two_phase.collect_window import (
    WindowSource,
    collect_window,
    each_once,
    is_insert_only,
    source_from_address,
    source_from_feed,
)
from feedmill.engine.two_phase.sidecar_files import SavedWindow, WindowLibrary, read_screenings
from feedmill.errors import FeedmillError, UsageError
from feedmill.interfaces.mcp.tool import (
    Call,
    ToolCursor,
    ToolLimit,
    mcp_state_of,
    page_size,
    position_of,
    tool,
)
from feedmill.interfaces.mcp.untrusted import NOTICE, Row, source_row
from feedmill.model.candidate import Window
from feedmill.publish.to_json import write_cursor

_FAILED_SHOWN: Final = 50
_PROGRESS_SEC: Final = 1.0
_CURSOR: Final = "mcp-windows"


@tool("Collect a window", "write", replaces=True, open_world=True)
async def collect_window_(
    call: Call,
    start: Annotated[
        str | None,
        Field(description="A day or an instant in UTC, such as 2026-01-05.", max_length=40),
    ] = None,
    end: Annotated[
        str | None, Field(description="A day (included) or an instant (excluded).", max_length=40)
    ] = None,
    last_days: Annotated[
        int | None, Field(ge=1, le=3_660, description="Instead of start and end: days up to now.")
    ] = None,
    feeds: Annotated[
        list[str] | None,
        Field(
            description="Addresses of feeds. Without feeds and tag: every subscription, except "
            "paused ones with the tag collected."
        ),
    ] = None,
    tag: Annotated[str | None, Field(description="Subscriptions with this tag.")] = None,
    topics: Annotated[list[str] | None, Field(description="Ids of the topics of interest.")] = None,
    prompt: Annotated[str, Field(description="Description of what you are looking for.")] = "",
) -> Row:
    """Step 1: fetch everything that sources published in a time window, as candidates.

    Nothing is stored as an entry. Host rate limits apply, so this may take minutes. A failing source
    is reported and the others continue.
    """
    state = mcp_state_of(call)
    window = _window(start, end, last_days, state.services)
    sources = await _sources(feeds, tag, state.services)
    async with _progress(call, len(sources)) as done:
        file = await collect_window(
            sources,
            window,
            state.services,
            topics=tuple(topics or ()),
            prompt=prompt,
            step=done.append,
        )
    return _collected(await state.window_library.save(file))


def _window(
    start: str | None, end: str | None, last_days: int | None, services: Services
) -> Window:
    now = services.clock.now()
    if (start is None) == (last_days is None) or (end is not None and start is None):
        message = "give start, with or without end, or last_days"
        raise UsageError(message)
    if last_days is not None:
        return window_of_last(timedelta(days=last_days), now=now)
    return window_between(start or "", end, now=now)


async def _sources(
    feeds: Sequence[str] | None, tag: str | None, services: Services
) -> list[WindowSource]:
    most = services.config.mcp.window_sources
    found = [await source_from_address(url, services) for url in (feeds or ())[: most + 1]]
    if tag is not None or not feeds:
        found += [
            source_from_feed(feed)
            async for feed in iterate_feeds(services, tag)
            if tag is not None or not is_insert_only(feed)
        ]
    found = each_once(found)
    if not found:
        message = "no sources: give feeds, or the tag of a subscription"
        raise UsageError(message)
    if len(found) > most:
        message = f"more than {most} sources for one window"
        raise UsageError(message)
    return found


@asynccontextmanager
async def _progress(call: Call, total: int) -> AsyncIterator[list[object]]:
    """Report every second how many sources are done; the client may extend its timeout."""
    done: list[object] = []

    async def report() -> None:
        for number in count(2):
            await asyncio.sleep(_PROGRESS_SEC)
            # The protocol wants every report to be greater, also while one source is slow.
            progress = min(len(done) + 1 - 1 / number, total)
            await call.report_progress(progress, total)
            if progress == total:
                return

    reporting = asyncio.create_task(report())
    try:
        yield done
    finally:
        reporting.cancel()
        with suppress(asyncio.CancelledError):
            await reporting


def _collected(kept: SavedWindow) -> Row:
    file = kept.file
    failed = [one for one in file.sources if one.outcome == "failed"]
    return {
        "window_id": kept.id,
        "digest": file.digest,
        "start": file.window.start,
        "end": file.window.end,
        "candidates": len(file.candidates),
        "undated": sum(one.is_undated for one in file.candidates),
        "known": sum(one.is_known for one in file.candidates),
        "sources_ok": len(file.sources) - len(failed),
        "sources_failed": len(failed),
        "failed": [source_row(one) for one in failed[:_FAILED_SHOWN]],
        "notice": NOTICE,
    }


@tool("List windows", "read", reads=True)
async def list_windows(call: Call, cursor: ToolCursor = None, limit: ToolLimit = None) -> Row:
    """List collected windows, the newest first: span, candidates, how many were screened."""
    state = mcp_state_of(call)
    after = position_of(_CURSOR, cursor)
    return await windows_page(state.window_library, after, page_size(limit, state.services))


async def windows_page(library: WindowLibrary, after: int, size: int) -> Row:
    """One page of the windows that can be read."""
    ids = await library.ids()
    rows: list[Row] = []
    for window_id in ids[after : after + size]:
        try:
            rows.append(_row(await library.window(window_id)))
        except FeedmillError:  # changed or deleted meanwhile: it cannot be worked with
            continue
    following = str(after + size) if after + size < len(ids) else None
    return {"windows": rows, "next_cursor": write_cursor(_CURSOR, following)}


def _row(kept: SavedWindow) -> Row:
    file = kept.file
    return {
        "window_id": kept.id,
        "collected_at": file.created_at,
        "start": file.window.start,
        "end": file.window.end,
        "sources": len(file.sources),
        "candidates": len(file.candidates),
        "screened": len(read_screenings(kept.path, file)),
        "topics": file.topics,
    }
