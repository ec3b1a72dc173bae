"""Tool discover_feeds."""
# Tested in tests/integration/interfaces/mcp/tools/test_discover.py

from typing import Annotated

from pydantic import Field

from feedmill.engine.service import subscriptions
from feedmill.interfaces.mcp.shapes import Discovery, FoundFeedRow, row_of
from feedmill.interfaces.mcp.tool import Call, mcp_state_of, tool
from feedmill.interfaces.mcp.untrusted import TITLE_CHARS, URL_CHARS
from feedmill.publish.shapes import DiscoverWish
from feedmill.screen.texts import clean_line


@tool("Discover feeds", "write", reads=True, open_world=True)
async def discover_feeds(
    call: Call,
    url: Annotated[str, Field(max_length=4_096, description="A page, a feed or a handle.")],
    budget: Annotated[int | None, Field(ge=0, le=100, description="Most requests.")] = None,
) -> Discovery:
    """List the feeds that an address leads to. Sends requests; subscribes to nothing."""
    wish = DiscoverWish(url=url, budget=budget)
    found = await subscriptions.discover(wish, mcp_state_of(call).services)
    return row_of(
        Discovery,
        found,
        feeds=[
            row_of(
                FoundFeedRow,
                feed,
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
