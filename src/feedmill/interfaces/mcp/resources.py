"""Resources (windows, topics, feeds) and the prompt that screens a window."""
# Tested in tests/integration/interfaces/mcp/

from typing import Final

from mcp.server.mcpserver import MCPServer

from feedmill.app.screeners import default_topics
from feedmill.engine.service import queries
from feedmill.interfaces.mcp.shapes import NOTICE, FeedList
from feedmill.interfaces.mcp.tool import McpState, translate_errors
from feedmill.interfaces.mcp.tools.feeds_and_entries import feed_row
from feedmill.interfaces.mcp.tools.screen import topics_shape
from feedmill.interfaces.mcp.tools.windows import windows_page
from feedmill.screen.texts import clean_line

_JSON: Final = "application/json"
_ITEMS: Final = 50
_TOPICS_CHARS: Final = 500
_PROMPT: Final = """Screen the window {window_id} of feedmill for: {topics}.

1. Call screen with window_id {window_id!r}, then list_candidates with order "score"; follow next_cursor.
2. Judge each candidate yourself over title, summary, categories and feed together, and record it with
   record_decisions. Distrust a candidate that is_suspicious.
3. Show the person candidate_id, title, published_at, feed_title and url of what you would keep.
4. When they agree, call confirm with exactly those ids, pass on `what_now`, and wait for their ticket.

{notice}"""


def add_resources(server: MCPServer[McpState], state: McpState) -> None:
    """Register the resources and the prompt."""

    @server.resource("feedmill://windows", name="windows", mime_type=_JSON)
    async def windows() -> str:
        """Collected windows, the newest first."""
        return (await windows_page(state.window_library, 0, _ITEMS)).model_dump_json()

    @server.resource("feedmill://topics", name="topics", mime_type=_JSON)
    async def topics() -> str:
        """The bundled topics."""
        return topics_shape(default_topics()).model_dump_json()

    @server.resource("feedmill://feeds", name="feeds", mime_type=_JSON)
    async def feeds() -> str:
        """The first subscriptions; the tool list_feeds has all."""
        page = await queries.list_feeds(state.services, tag=None, cursor=None, limit=_ITEMS)
        rows = FeedList(feeds=[feed_row(feed) for feed in page.items], next_cursor=page.next)
        return rows.model_dump_json()

    @server.prompt(name="screen_window", title="Screen a window")
    async def screen_window(window_id: str, topics: str = "the bundled topics") -> str:
        """Screen the candidates of a window and ask the person to confirm."""
        with translate_errors("screen_window"):
            kept = await state.window_library.window(window_id)  # nothing else gets into the words
        return _PROMPT.format(
            window_id=kept.id, topics=clean_line(topics, _TOPICS_CHARS), notice=NOTICE
        )
