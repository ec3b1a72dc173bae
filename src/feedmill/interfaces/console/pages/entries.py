"""Entries and search, one entry with its revisions and duplicates, articles."""
# Tested in tests/integration/interfaces/console/test_entries.py

import re
from datetime import datetime
from typing import Any, Final

from litestar import Response, get

from feedmill.engine.service import queries
from feedmill.errors import ConflictError, UsageError
from feedmill.interfaces.console.render import view
from feedmill.interfaces.console.session import SCOPE, text_field
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.page import EntryFilter
from feedmill.normalise.dates import parse_date
from feedmill.normalise.html.sanitise import clean_html
from feedmill.publish.shapes import EntryPage
from feedmill.search.query import parse_query

HERE: Final = "/console/entries"
ARTICLES: Final = "/console/articles"
_TIMES: Final = ("since", "until", "published_since", "published_until")
_FIELDS: Final = (
    "q", "full_texts", "with_tag", "category", "author", "language", "enclosures", "removed", "duplicates", "order",
    *_TIMES,
)  # fmt: skip
_PER_PAGE: Final = 50
# The content of an entry, in a frame of its own: nothing runs, nothing is loaded, no form is sent, and
# the page around it cannot be reached.
_FRAME: Final = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
# Tags of sanitised HTML that load something; attribute values are quoted with ".
_LOADED: Final = re.compile(
    r'<(?:img|source|track|audio|video)\b(?:[^>"]|"[^"]*")*>', re.IGNORECASE
)
_FRAME_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Content</title>'
    '<meta name="color-scheme" content="light dark"></head><body>'
)


@view("/console/entries", "entries.html", "Entries")
async def entries(request: AnyRequest) -> dict[str, Any]:
    """Entries that match, the newest first, each article once."""
    services, given = services_of(request), request.query_params
    chosen = {name: text_field(given, name) for name in _FIELDS}
    try:
        found = await queries.entries(
            _filter_of(chosen), services, cursor=given.get("cursor") or None, limit=_PER_PAGE
        )
        problem = ""
    except (UsageError, ConflictError) as error:  # of the words that were typed
        found, problem = EntryPage(items=()), f"{error}"
    return {
        "chosen": chosen,
        "query": {name: value for name, value in chosen.items() if value},
        "entries": found,
        "problem": problem,
        "feeds": await _feed_titles(found.items, request),
    }


def _filter_of(chosen: dict[str, str]) -> EntryFilter:
    """The filter of what was typed."""
    given: dict[str, Any] = {
        **{name: chosen[name] or None for name in ("category", "author", "language")},
        **{name: _time(name, chosen[name]) for name in _TIMES if chosen[name]},
    }
    query = parse_query(chosen["q"], full_texts=bool(chosen["full_texts"])) if chosen["q"] else None
    is_ranked = query is not None and not chosen["order"]
    return EntryFilter(
        query=query,
        tag=chosen["with_tag"] or None,
        has_enclosure=True if chosen["enclosures"] else None,
        include_removed=bool(chosen["removed"]),
        order="relevance"
        if is_ranked
        else "first_seen"
        if chosen["order"] == "arrival"
        else "published",
        ascending=chosen["order"] == "oldest",
        duplicates="include" if chosen["duplicates"] else "hide",
        **given,
    )


def _time(name: str, text: str) -> datetime:
    found = parse_date(text)
    if found is None:
        message = f"{name}: {text!r} is not a date; use a format like 2025-10-14"
        raise UsageError(message)
    return found


@view("/console/entries/{entry_uid:str}", "entry.html", here=HERE)
async def entry(request: AnyRequest) -> dict[str, Any]:
    """One entry."""
    services = services_of(request)
    found = await queries.entry(str(request.path_params["entry_uid"]), services)
    feed = await queries.require_feed(found.feed_id, services)
    revisions = await queries.revisions(found.entry_uid, services)
    same = await services.store.duplicates(found.entry_uid)
    return {
        "title": found.title or "Entry",
        "entry": found,
        "feed": feed,
        "revisions": revisions.items,
        "duplicates": same,
        "feeds": await _feed_titles(same, request),
    }


@get("/console/entries/{entry_uid:str}/content", opt={SCOPE: "read"})
async def content(request: AnyRequest) -> Response[bytes]:
    """The content of an entry as a document that may do nothing, for the frame."""
    services = services_of(request)
    found = await queries.entry(str(request.path_params["entry_uid"]), services)
    text, depth = found.content or "", services.config.normalise.html_max_depth
    clean = clean_html(text, max_chars=max(len(text), 1), max_depth=depth)
    # Not even asked for: the publisher need not know who looks.
    body = f"{_FRAME_HEAD}{_LOADED.sub('<em>[media]</em>', clean)}</body></html>"
    return Response(body.encode(), media_type="text/html", headers=_FRAME)


@view("/console/articles", "articles.html", "Articles", here=HERE)
async def articles(request: AnyRequest) -> dict[str, Any]:
    """Articles, each once, with how many entries carry it."""
    services = services_of(request)
    found = await queries.articles(
        services, cursor=request.query_params.get("cursor") or None, limit=_PER_PAGE
    )
    counts = await services.store.count_duplicates([one.article_hash for one in found.items])
    return {
        "articles": found,
        "counts": counts,
        "feeds": await _feed_titles(found.items, request),
    }


async def _feed_titles(items: Any, request: AnyRequest) -> dict[str, str]:  # noqa: ANN401  # whatever has a feed_id
    """The titles of the feeds of these items."""
    store = services_of(request).store
    found: dict[str, str] = {}
    for feed_id in dict.fromkeys(one.feed_id for one in items if one.feed_id is not None):
        feed = await store.feed(feed_id)
        if feed is not None:
            found[feed_id] = feed.title or mask_address(feed.url)
    return found
