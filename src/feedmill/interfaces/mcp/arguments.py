"""Argument types that several tools share, with the descriptions that agents read."""

from typing import Annotated

from pydantic import Field

from feedmill.engine.run.services import Services

WindowId = Annotated[str, Field(min_length=1, max_length=64, description="From collect_window.")]
CandidateIds = Annotated[
    list[int],
    Field(min_length=1, max_length=5_000, description="Ids of candidates of this window."),
]
ItemId = Annotated[str, Field(min_length=1, max_length=200)]
ToolCursor = Annotated[
    str | None, Field(max_length=1_000, description="`next_cursor` of the previous page.")
]
ToolLimit = Annotated[int | None, Field(ge=1, le=200, description="Items per page.")]


def page_size(limit: int | None, services: Services) -> int:
    """The number of items of a page: as asked for, at most what the settings allow."""
    most = services.config.mcp.page_items
    return most if limit is None else min(limit, most)
