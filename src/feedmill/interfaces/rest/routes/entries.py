"""Routes /entries, /articles and /raw."""

from litestar import Response, Router, get
from litestar.di import Provide
from litestar.response import Stream

from feedmill.engine.service import queries
from feedmill.engine.service.queries import RawContent
from feedmill.interfaces.rest.openapi import RouteDescription, route_options
from feedmill.interfaces.rest.parameters import (
    Cursor,
    EntryUid,
    FetchId,
    Limit,
    QueryFilter,
    entry_filter_of_query,
)
from feedmill.interfaces.rest.responses import (
    ListPage,
    bytes_response,
    json_response,
    list_response,
)
from feedmill.interfaces.rest.state import AnyRequest, services_of
from feedmill.publish.shapes import ArticlePage, EntryPage, EntryShape, FetchShape, RevisionPage

BINARY = "application/octet-stream"
# A stranger's document is never shown by a browser as if it were ours.
_HARMLESS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=86400, immutable",
}
_RAW = RouteDescription(
    gives=bytes, media_type=BINARY, conditional=True, problems=("not-found", "not-kept")
)


@get(
    "/entries",
    dependencies={"where": Provide(entry_filter_of_query, sync_to_thread=False)},
    operation_id="listEntries",
    summary="List entries that match the filters, newest arrivals first.",
    opt=route_options(
        "read",
        RouteDescription(
            gives=EntryPage,
            lines=True,
            conditional=True,
            problems=("bad-cursor", "bad-parameter"),
        ),
    ),
)
async def list_entries(
    request: AnyRequest, where: QueryFilter, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    services = services_of(request)

    async def fetch_page(after: str | None) -> ListPage:
        return await queries.entry_texts(where, services, cursor=after, limit=limit)

    return await list_response(request, fetch_page, cursor)


@get(
    "/entries/{entry_uid:str}",
    operation_id="getEntry",
    summary="Get one entry.",
    opt=route_options(
        "read", RouteDescription(gives=EntryShape, conditional=True, problems=("not-found",))
    ),
)
async def get_entry(request: AnyRequest, entry_uid: EntryUid) -> Response[bytes]:
    found = await queries.entry(entry_uid, services_of(request))
    return json_response(
        request, found, modified=max(found.last_seen, found.removed_at or found.last_seen)
    )


@get(
    "/entries/{entry_uid:str}/revisions",
    operation_id="listRevisions",
    summary="List earlier revisions of an entry, oldest first.",
    opt=route_options(
        "read",
        RouteDescription(gives=RevisionPage, lines=True, conditional=True, problems=("not-found",)),
    ),
)
async def list_revisions(request: AnyRequest, entry_uid: EntryUid) -> Response[bytes] | Stream:
    services = services_of(request)

    async def fetch_page(_: str | None) -> ListPage:
        return await queries.revisions(entry_uid, services)

    return await list_response(request, fetch_page, None)


@get(
    "/entries/{entry_uid:str}/raw",
    operation_id="getEntryRaw",
    summary="Get the exact bytes of an entry in the publisher's document.",
    opt=route_options("read", _RAW),
)
async def get_entry_raw(request: AnyRequest, entry_uid: EntryUid) -> Response[bytes]:
    raw = await queries.entry_raw(entry_uid, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}-{raw.offset}.bin")


@get(
    "/raw/{fetch_id:str}",
    operation_id="getRaw",
    summary="Get the raw document of a fetch.",
    opt=route_options("read", _RAW),
)
async def get_raw(request: AnyRequest, fetch_id: FetchId) -> Response[bytes]:
    raw = await queries.raw(fetch_id, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}.bin")


@get(
    "/raw/{fetch_id:str}/headers",
    operation_id="getRawHeaders",
    summary="Get a fetch with request and response headers; credentials are removed.",
    opt=route_options(
        "read", RouteDescription(gives=FetchShape, conditional=True, problems=("not-found",))
    ),
)
async def get_raw_headers(request: AnyRequest, fetch_id: FetchId) -> Response[bytes]:
    found = await queries.fetch(fetch_id, services_of(request))
    return json_response(request, found, modified=found.fetched_at)


@get(
    "/articles",
    operation_id="listArticles",
    summary="List articles: each once, whatever number of feeds carried it.",
    opt=route_options(
        "read",
        RouteDescription(gives=ArticlePage, lines=True, conditional=True, problems=("bad-cursor",)),
    ),
)
async def list_articles(
    request: AnyRequest, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    services = services_of(request)

    async def fetch_page(after: str | None) -> ListPage:
        return await queries.articles(services, cursor=after, limit=limit)

    return await list_response(request, fetch_page, cursor)


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
        get_entry_raw,
        get_raw,
        get_raw_headers,
        list_articles,
    ],
)
