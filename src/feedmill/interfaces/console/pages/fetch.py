"""One poll: headers, and its document raw, parsed and normalised side by side; what changed between two polls."""
# Tested in tests/integration/interfaces/console/test_fetch.py

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from feedmill.engine.service import queries
from feedmill.engine.service.documents import (
    DocumentView,
    EntryStages,
    diff_documents,
    view_document,
)
from feedmill.errors import NotFoundError
from feedmill.interfaces.console.pages.feed import outcome_mark
from feedmill.interfaces.console.pages.feeds import HERE
from feedmill.interfaces.console.render import view
from feedmill.interfaces.console.session import number_field
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address

_PER_PAGE: Final = 10
_RAW_CHARS: Final = 6_000  # of one entry that are shown
_VALUE_CHARS: Final = 1_500
_DIFF_CHARS: Final = 3_000  # of one value of a diff
_MOST_ENTRIES: Final = 200  # of a diff
_HIDDEN: Final = frozenset({"slice", "findings", "modified"})


@view("/console/fetches/{fetch_id:str}", "fetch.html", here=HERE)
async def fetch_page(request: AnyRequest) -> dict[str, Any]:
    """A poll, with its document when it is kept."""
    services = services_of(request)
    fetch = await queries.fetch(str(request.path_params["fetch_id"]), services)
    feed = await queries.require_feed(fetch.feed_id, services)
    first = max(number_field(request.query_params, "first", 1), 1)
    view: DocumentView | None = None
    problem = ""
    try:
        view = await view_document(fetch.fetch_id, services, first=first, count=_PER_PAGE)
    except NotFoundError as missing:  # or not kept any more
        problem = str(missing)
    others = await services.store.fetches(feed.id, limit=50)
    return {
        "title": f"Poll of {feed.title or mask_address(feed.url)}",
        "feed": feed,
        "fetch": fetch,
        "mark": outcome_mark(fetch),
        "view": view,
        "problem": problem,
        "entries": [] if view is None else [_shown(one) for one in view.entries],
        "first": first,
        "after": first + _PER_PAGE,
        "facts": []
        if view is None or view.parsed is None
        else list(_fields(view.parsed, feed=True)),
        "others": [
            one
            for one in others.items
            if one.body_sha256 is not None and one.fetch_id != fetch.fetch_id
        ],
    }


def _shown(one: EntryStages) -> dict[str, Any]:
    """An entry at its three stages, each a list of (field, text, is marked)."""
    changed = set(one.clean.modified)
    return {
        "number": one.number,
        "offset": one.offset,
        "raw": None if one.raw is None else one.raw[:_RAW_CHARS],
        "is_cut": one.raw is not None and len(one.raw) > _RAW_CHARS,
        "parsed": list(_fields(one.parsed)),
        "clean": [(name, text, name in changed) for name, text in _fields(one.clean)],
        "findings": one.clean.findings,
    }


def _fields(value: Struct, *, feed: bool = False) -> Iterator[tuple[str, str]]:
    """The fields that say something, as text."""
    skipped = _HIDDEN | ({"entries", "touched", "repairs"} if feed else set())
    for name in value.__struct_fields__:
        given = getattr(value, name)
        if name in skipped or given in (None, (), "", False):
            continue
        plain = given.value if hasattr(given, "value") and hasattr(given, "kind") else given
        yield name, _cut(mask_address(_words(plain)), _VALUE_CHARS)


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
    return "" if value is None else _cut(_words(value), _DIFF_CHARS)


def _words(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str, most: int) -> str:
    return text[:most] + ("…" if len(text) > most else "")
