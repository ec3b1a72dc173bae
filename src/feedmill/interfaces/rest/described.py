"""What a route says about itself: the OpenAPI document is made of this and of its signature."""

from typing import Annotated, Any, Final, NamedTuple

from litestar.params import PathParameter, QueryParameter

from feedmill.interfaces.rest.auth import SCOPE
from feedmill.model.token import Scope
from feedmill.publish.shapes import MAX_SEQ

DESCRIPTION: Final = "described"


class RouteDescription(NamedTuple):
    """What a route takes and gives beyond its parameters."""

    gives: Any = None  # a shape; None: no body
    body: Any = None  # the shape of the request's body
    status: int = 200
    media_type: str = "application/json"
    takes: tuple[str, ...] = ("application/json",)
    lines: bool = False  # NDJSON on request
    problems: tuple[str, ...] = ()
    conditional: bool = False  # 304


def route_options(scope: Scope | None, described: RouteDescription) -> dict[str, Any]:
    """A route's `opt`: who may call it, and what it says about itself."""
    return {DESCRIPTION: described} if scope is None else {SCOPE: scope, DESCRIPTION: described}


Limit = Annotated[
    int | None,
    QueryParameter(description="Items of a page; clamped to 1 to 1,000. Left out: 100."),
]
Cursor = Annotated[
    str | None, QueryParameter(description="Go on after a page: its `next`.", max_length=200)
]
After = Annotated[
    int, QueryParameter(description="Only events after this number.", ge=0, le=MAX_SEQ)
]
TagIs = Annotated[
    str | None, QueryParameter(description="Only feeds with this tag.", max_length=100)
]
FeedId = Annotated[str, PathParameter(description="The id of a feed.")]
EntryUid = Annotated[str, PathParameter(description="The uid of an entry.")]
FetchId = Annotated[str, PathParameter(description="The id of a fetch.")]
WebhookId = Annotated[str, PathParameter(description="The id of a webhook.")]
ProblemCode = Annotated[str, PathParameter(description="The last part of a problem's type.")]
