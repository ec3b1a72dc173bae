"""Path and query parameters that several routes share."""

from typing import Annotated

from litestar.params import PathParameter, QueryParameter

from feedmill.publish.shapes import MAX_SEQ

Limit = Annotated[
    int | None,
    QueryParameter(description="Items per page, 1 to 1,000. Default: 100."),
]
Cursor = Annotated[
    str | None,
    QueryParameter(
        description="Cursor of the next page: `next` of the previous page.", max_length=200
    ),
]
After = Annotated[
    int, QueryParameter(description="Only events after this sequence number.", ge=0, le=MAX_SEQ)
]
TagIs = Annotated[
    str | None, QueryParameter(description="Only feeds with this tag.", max_length=100)
]
FeedId = Annotated[str, PathParameter(description="The id of a feed.")]
EntryUid = Annotated[str, PathParameter(description="The uid of an entry.")]
FetchId = Annotated[str, PathParameter(description="The id of a fetch.")]
WebhookId = Annotated[str, PathParameter(description="The id of a webhook.")]
ProblemCode = Annotated[
    str, PathParameter(description="The last path segment of a problem's type.")
]
