"""The ports and settings of a running engine.

Reads a list of the store to its end, page by page.
"""
# Tested in tests/unit/engine/run/
# Tested in tests/integration/interfaces/cli/test_feed_name_lookup.py

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from feedmill.config import Config
from feedmill.engine.ports.entries import Extractor
from feedmill.engine.ports.io import Blobs, Clock, Downloader, Fetcher
from feedmill.engine.ports.media import MediaFiles
from feedmill.engine.ports.store import Store
from feedmill.engine.run.memory_budget import MemoryBudget
from feedmill.model.page import Page
from feedmill.model.running.webhook import TopicContent
from feedmill.model.screening import LiveScreenMethod, Screening, ScreenText, TopicSet
from feedmill.observe.traces import Traces

if TYPE_CHECKING:  # commands that only read do not load it
    from feedmill.canonicalise.discovery.platforms import PlatformRules

ScreenFunction = Callable[
    [Sequence[ScreenText], TopicSet, LiveScreenMethod], Awaitable[Sequence[Screening]]
]


RenderTopic = Callable[[str, "Services"], Awaitable[TopicContent | None]]
T = TypeVar("T")

ReadPage = Callable[[str | None], Awaitable[Page[T]]]  # the page after a cursor; None: the first


class Services(NamedTuple):
    """The ports and settings; opened by app/services.py, or made by a test out of fakes."""

    clock: Clock
    fetcher: Fetcher
    blobs: Blobs
    store: Store
    config: Config
    screen: ScreenFunction | None = None  # for live screens; loaded at its first use
    traces: Traces | None = None  # None: off
    extractor: Extractor | None = None  # of full texts; its processes start at the first page
    media: MediaFiles | None = None  # files of entries; nothing is made before the first one
    downloader: Downloader | None = None  # of such files
    render_topic: RenderTopic | None = None  # for subscribers of our hub
    memory: MemoryBudget | None = None  # None: no limit
    rules: "PlatformRules | None" = None  # of platforms, with a user's own; None: the shipped ones


async def each_page(read: ReadPage[T]) -> AsyncIterator[Page[T]]:
    """All pages of a list in its order."""
    page = await read(None)
    yield page
    while page.next is not None:
        page = await read(page.next)
        yield page


async def each_item(read: ReadPage[T]) -> AsyncIterator[T]:
    """All items of a list in its order; as many pages are read as are needed for what is taken."""
    async for page in each_page(read):
        for item in page.items:
            yield item
