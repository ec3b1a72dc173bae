"""What a publisher changed between two fetches of a feed."""
# Tested in tests/integration/interfaces/console/test_fetch.py

from typing import Any, Final

import msgspec

from feedmill.engine.service import queries
from feedmill.engine.service.contents.documents import diff_documents
from feedmill.interfaces.console.pages.feeds import HERE
from feedmill.interfaces.console.render import view
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address

_VALUE_CHARS: Final = 3_000
_MOST_ENTRIES: Final = 200


@view("/console/diff", "diff.html", here=HERE)
async def diff(request: AnyRequest) -> dict[str, Any]:
    """The differences, entry by entry, before and after side by side."""
    services, given = services_of(request), request.query_params
    found = await diff_documents(str(given.get("before")), str(given.get("after")), services)
    feed = await queries.require_feed(found.feed_id, services)
    return {
        "title": f"Changes of {feed.title or mask_address(feed.url)}",
        "feed": feed,
        "found": found,
        "entries": found.diff.entries[:_MOST_ENTRIES],
        "more": max(len(found.diff.entries) - _MOST_ENTRIES, 0),
        "text": _text,
    }


def _text(value: Any) -> str:  # noqa: ANN401  # of any field
    """A value of a field as people read it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[:_VALUE_CHARS] + ("…" if len(text) > _VALUE_CHARS else "")
