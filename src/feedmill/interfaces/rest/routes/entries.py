"""Routes /entries, /articles and /raw."""
# Tested in tests/integration/interfaces/rest/

from litestar import Response, Router, get
from litestar.di import Provide
from litestar.response import Stream

from feedmill.engine.service import queries
from feedmill.engine.service.contents import full_texts
from feedmill.engine.service.queries import RawContent
from feedmill.interfaces.rest import parameters
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.responses import bytes_response, json_response, list_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import (
    ArticlePage,
    EntryPage,
    EntryShape,
    FetchShape,
    FullTextShape,
    RevisionPage,
)

BINARY = "application/octet-stream"
# A browser never renders an untrusted document in the origin of this server.
_HARMLESS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=86400, immutable",
}


@get(
    "/entries",
    dependencies={"where": Provide(parameters.entry_filter_of_query, sync_to_thread=False)},
    **describe(
        "listEntries", "read", EntryPage, "bad-cursor", "bad-parameter", "search-off", lines=True
    ),
)
async def list_entries(
    request: AnyRequest,
    where: parameters.QueryFilter,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
    full_text: parameters.FullTextQuery = False,
) -> Response[bytes] | Stream:
    """List entries that match the filters, newest arrivals first; those of a search by relevance."""
    services = services_of(request)
    ask = full_texts.entries_with_full_text if full_text else queries.entry_texts
    return await list_response(
        request, lambda after: ask(where, services, cursor=after, limit=limit), cursor, keep=True
    )


@get("/entries/{entry_uid:str}", **describe("getEntry", "read", EntryShape, "not-found"))
async def get_entry(
    request: AnyRequest, entry_uid: parameters.EntryUid, full_text: parameters.FullTextQuery = False
) -> Response[bytes]:
    """Get one entry."""
    if full_text:
        whole = await full_texts.entry_with_full_text(entry_uid, services_of(request))
        return json_response(request, whole)
    found = await queries.entry(entry_uid, services_of(request))
    return json_response(
        request, found, modified=max(found.last_seen, found.removed_at or found.last_seen)
    )


@get(
    "/entries/{entry_uid:str}/revisions",
    **describe("listRevisions", "read", RevisionPage, "not-found", lines=True),
)
async def list_revisions(
    request: AnyRequest, entry_uid: parameters.EntryUid
) -> Response[bytes] | Stream:
    """List earlier revisions of an entry, oldest first."""
    services = services_of(request)
    return await list_response(request, lambda _: queries.revisions(entry_uid, services))


@get(
    "/entries/{entry_uid:str}/full-text",
    **describe("getFullText", "read", FullTextShape, "not-found"),
)
async def get_full_text(request: AnyRequest, entry_uid: parameters.EntryUid) -> Response[bytes]:
    """Get the full text of an entry, extracted from its web page, or why it has none."""
    found = await full_texts.get_full_text(entry_uid, services_of(request))
    return json_response(request, found, modified=found.extracted_at)


@get(
    "/entries/{entry_uid:str}/raw",
    **describe("getEntryRaw", "read", bytes, "not-found", "not-kept", media_type=BINARY),
)
async def get_entry_raw(request: AnyRequest, entry_uid: parameters.EntryUid) -> Response[bytes]:
    """Get the exact bytes of an entry in the publisher's document."""
    raw = await queries.entry_raw(entry_uid, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}-{raw.offset}.bin")


@get(
    "/raw/{fetch_id:str}",
    **describe("getRaw", "read", bytes, "not-found", "not-kept", media_type=BINARY),
)
async def get_raw(request: AnyRequest, fetch_id: parameters.FetchId) -> Response[bytes]:
    """Get the raw document of a fetch."""
    raw = await queries.raw(fetch_id, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}.bin")


@get("/raw/{fetch_id:str}/headers", **describe("getRawHeaders", "read", FetchShape, "not-found"))
async def get_raw_headers(request: AnyRequest, fetch_id: parameters.FetchId) -> Response[bytes]:
    """Get a fetch with request and response headers; credentials are removed."""
    found = await queries.fetch(fetch_id, services_of(request))
    return json_response(request, found, modified=found.fetched_at)


@get("/articles", **describe("listArticles", "read", ArticlePage, "bad-cursor", lines=True))
async def list_articles(
    request: AnyRequest, cursor: parameters.Cursor = None, limit: parameters.Limit = None
) -> Response[bytes] | Stream:
    """List articles: each once, whatever number of feeds carried it."""
    services = services_of(request)
    return await list_response(
        request,
        lambda after: queries.articles(services, cursor=after, limit=limit),
        cursor,
        keep=True,
    )


def _bytes(request: AnyRequest, raw: RawContent, name: str) -> Response[bytes]:
    fetch = raw.fetch
    facts = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Feedmill-Fetch": fetch.fetch_id,
        "Feedmill-Offset": str(raw.offset),
    }
    return bytes_response(
        request, raw.body, BINARY, headers=_HARMLESS | facts, modified=fetch.fetched_at
    )


entry_routes = Router(
    "/",
    tags=["entries"],
    route_handlers=[
        list_entries,
        get_entry,
        list_revisions,
        get_full_text,
        get_entry_raw,
        get_raw,
        get_raw_headers,
        list_articles,
    ],
)
