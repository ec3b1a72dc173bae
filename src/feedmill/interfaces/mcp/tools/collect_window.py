"""Tool collect_window: collect the candidates of a time window."""
# Tested in tests/integration/interfaces/mcp/

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import iterate_feeds
from feedmill.engine.two_phase.candidates import window_between, window_of_last
from feedmill.engine.two_phase.collect_source import WindowSource
from feedmill.engine.two_phase.collect_window import (
    collect_window,
    is_insert_only,
    source_from_address,
    source_from_feed,
)
from feedmill.engine.two_phase.window_library import SavedWindow
from feedmill.errors import UsageError
from feedmill.interfaces.mcp.shapes import CollectedWindow
from feedmill.interfaces.mcp.tool import Call, mcp_state_of, tool
from feedmill.interfaces.mcp.untrusted import source_row
from feedmill.model.candidate import Window

_FAILED_SHOWN: Final = 50
_PROGRESS_SEC: Final = 1.0


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
    tag: Annotated[str | None, Field(description="Only subscriptions with this tag.")] = None,
    topics: Annotated[list[str] | None, Field(description="Ids of the topics of interest.")] = None,
    prompt: Annotated[str, Field(description="Description of what you are looking for.")] = "",
) -> CollectedWindow:
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
    if feeds:
        found = [
            await source_from_address(url, services)
            for url in feeds[: services.config.mcp.window_sources + 1]
        ]
    else:
        found = [
            source_from_feed(feed)
            async for feed in iterate_feeds(services, tag)
            if tag is not None or not is_insert_only(feed)
        ]
    if not found:
        message = "no sources: give feeds, or the tag of a subscription"
        raise UsageError(message)
    if len(found) > services.config.mcp.window_sources:
        message = f"more than {services.config.mcp.window_sources} sources for one window"
        raise UsageError(message)
    return found


@asynccontextmanager
async def _progress(call: Call, total: int) -> AsyncIterator[list[object]]:
    """Report every second how many sources are done; the client may extend its timeout."""
    done: list[object] = []

    async def report() -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SEC)
            await call.report_progress(len(done), total)

    reporting = asyncio.create_task(report())
    try:
        yield done
    finally:
        reporting.cancel()
        with suppress(asyncio.CancelledError):
            await reporting


def _collected(kept: SavedWindow) -> CollectedWindow:
    file = kept.file
    failed = [one for one in file.sources if one.outcome == "failed"]
    return CollectedWindow(
        window_id=kept.id,
        digest=file.digest,
        start=file.window.start,
        end=file.window.end,
        candidates=len(file.candidates),
        undated=sum(one.is_undated for one in file.candidates),
        known=sum(one.is_known for one in file.candidates),
        sources_ok=len(file.sources) - len(failed),
        sources_failed=len(failed),
        failed=[source_row(one) for one in failed[:_FAILED_SHOWN]],
    )
