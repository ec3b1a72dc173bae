"""Tool list_topics: the bundled topics."""

from typing import Final

from feedmill.app.screeners import default_topics
from feedmill.interfaces.mcp.shapes import Topics, TopicShape
from feedmill.interfaces.mcp.state import Call
from feedmill.interfaces.mcp.tool import tool

_EXAMPLES_SHOWN: Final = 6


@tool("List topics", "read", reads=True)
async def list_topics(call: Call) -> Topics:
    """List the bundled topics; `screen` accepts custom topics too."""
    del call
    topics = default_topics()
    return Topics(
        name=topics.name,
        version=topics.version,
        topics=[
            TopicShape(
                id=one.id,
                name=one.name,
                description=one.description,
                examples=list(one.examples[:_EXAMPLES_SHOWN]),
            )
            for one in topics.topics
        ],
    )
