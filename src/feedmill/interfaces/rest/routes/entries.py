"""Routes /entries, /articles, /raw, and /clusters: the same story in several feeds."""
# Tested in tests/integration/interfaces/rest/

from functools import partial
from typing import Annotated, Final

import msgspec
from litestar import Response
from litestar.di import Provide

from feedmill.engine.service import full_texts, queries
from feedmill.engine.service.queries import RawContent
from feedmill.interfaces.rest import parameters
from feedmill.interfaces.rest.responses import (
    JSON,
    ListAnswer,
    bytes_response,
    etag_of,
    json_response,
    last_change,
    list_answer,
    list_response,
)
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import (
    ArticlePage,
    ClusterDetail,
    ClusterPage,
    EntryPage,
    EntryShape,
    FetchShape,
    FullTextShape,
    RevisionPage,
)

_CHANGE_TIMES: Final = "entry_change_times"
BINARY = "application/octet-stream"
# A browser never renders an untrusted document in the origin of this server.
_HARMLESS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=86400, immutable",
}
ClusterId = Annotated[str, parameters.path("The id of a cluster.")]
MinFeeds = Annotated[
    int, parameters.query("Only stories that so many feeds tell.", ge=2, le=10_000)
]
routes = Routes("/", "entries")
clusters = Routes("/clusters", "entries")


@routes.get(
    "/entries",
    "read",
    "bad-cursor bad-parameter search-off",
    gives=EntryPage,
    lines=True,
    dependencies={"where": Provide(parameters.entry_filter_of_query, sync_to_thread=False)},
)
async def list_entries(
    request: AnyRequest,
    where: parameters.QueryFilter,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
    full_text: parameters.FullTextQuery = False,
) -> ListAnswer:
    """List entries that match the filters, newest arrivals first; those of a search by relevance."""
    ask = full_texts.entries_with_full_text if full_text else queries.entry_texts
    asked = partial(ask, where, services_of(request), limit=limit)
    return await list_response(request, asked, cursor, keep=True)


@routes.get("/entries/{entry_uid:str}", "read", "not-found", gives=EntryShape)
async def get_entry(
    request: AnyRequest, entry_uid: parameters.EntryUid, full_text: parameters.FullTextQuery = False
) -> Response[bytes]:
    """Get one entry."""
    if full_text:
        whole = await full_texts.entry_with_full_text(entry_uid, services_of(request))
        return json_response(request, whole)
    found = await queries.entry(entry_uid, services_of(request))
    body = msgspec.json.encode(found)
    tag = etag_of(body)
    modified = last_change(request, _CHANGE_TIMES, request.scope["path"], tag)
    return bytes_response(request, body, JSON, modified=modified, etag=tag)


@routes.get(
    "/entries/{entry_uid:str}/revisions", "read", "not-found", gives=RevisionPage, lines=True
)
async def list_revisions(request: AnyRequest, entry_uid: parameters.EntryUid) -> ListAnswer:
    """List earlier revisions of an entry, oldest first."""
    return list_answer(request, await queries.revisions(entry_uid, services_of(request)))


@routes.get("/entries/{entry_uid:str}/full-text", "read", "not-found", gives=FullTextShape)
async def get_full_text(request: AnyRequest, entry_uid: parameters.EntryUid) -> Response[bytes]:
    """Get the full text of an entry, extracted from its web page, or why it has none."""
    found = await full_texts.get_full_text(entry_uid, services_of(request))
    return json_response(request, found, modified=found.extracted_at)


@routes.get(
    "/entries/{entry_uid:str}/raw", "read", "not-found not-kept", gives=bytes, media_type=BINARY
)
async def get_entry_raw(request: AnyRequest, entry_uid: parameters.EntryUid) -> Response[bytes]:
    """Get the exact bytes of an entry in the publisher's document."""
    raw = await queries.entry_raw(entry_uid, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}-{raw.offset}.bin")


@routes.get("/raw/{fetch_id:str}", "read", "not-found not-kept", gives=bytes, media_type=BINARY)
async def get_raw(request: AnyRequest, fetch_id: parameters.FetchId) -> Response[bytes]:
    """Get the raw document of a fetch."""
    raw = await queries.raw(fetch_id, services_of(request))
    return _bytes(request, raw, f"{raw.fetch.fetch_id}.bin")


@routes.get("/raw/{fetch_id:str}/headers", "read", "not-found", gives=FetchShape)
async def get_raw_headers(request: AnyRequest, fetch_id: parameters.FetchId) -> Response[bytes]:
    """Get a fetch with request and response headers; credentials are removed."""
    found = await queries.fetch(fetch_id, services_of(request))
    return json_response(request, found, modified=found.fetched_at)


@routes.get("/articles", "read", "bad-cursor", gives=ArticlePage, lines=True)
async def list_articles(
    request: AnyRequest, cursor: parameters.Cursor = None, limit: parameters.Limit = None
) -> ListAnswer:
    """List articles: each once, whatever number of feeds carried it."""
    ask = partial(queries.articles, services_of(request), limit=limit)
    return await list_response(request, ask, cursor, keep=True)


@clusters.get("/", "read", "bad-cursor", gives=ClusterPage, lines=True)
async def list_clusters(
    request: AnyRequest,
    min_feeds: MinFeeds = 2,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
) -> ListAnswer:
    """List stories that several feeds tell, the one that grew last first."""
    ask = partial(queries.list_clusters, services_of(request), min_feeds=min_feeds, limit=limit)
    return await list_response(request, ask, cursor)


@clusters.get("/{cluster_id:str}", "read", "not-found")
async def get_cluster(request: AnyRequest, cluster_id: ClusterId) -> ClusterDetail:
    """Get one story with its entries and the evidence that joins them."""
    return await queries.get_cluster(cluster_id, services_of(request))


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
