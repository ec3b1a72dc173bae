"""Reads a list of the store to its end, page by page."""
# Tested in tests/integration/interfaces/cli/test_feed_name_lookup.py

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from feedmill.model.page import Page

T = TypeVar("T")

ReadPage = Callable[[str | None], Awaitable[Page[T]]]  # the page after a cursor; None: the first


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
