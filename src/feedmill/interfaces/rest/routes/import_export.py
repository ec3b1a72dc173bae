"""Routes /import, /export.opml, /canonicalize and /discover."""
# Tested in tests/integration/interfaces/rest/

from typing import Annotated

from litestar import Response

from feedmill.engine.service import subscriptions
from feedmill.interfaces.request_auth import is_cross_origin
from feedmill.interfaces.rest import responses
from feedmill.interfaces.rest.parameters import TagIs, query
from feedmill.interfaces.rest.problems import RequestError
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.publish.shapes import (
    CanonicalShape,
    CanonicalWish,
    DiscoveredShape,
    DiscoverWish,
    Imported,
)

OPML = "text/x-opml"
_LISTS = (OPML, "application/xml", "text/xml", responses.JSON)

TagsQuery = Annotated[list[str] | None, query("Tag every imported feed; repeatable.", max_items=50)]
AddressQuery = Annotated[str, query("Address of a page, a feed or a handle.", max_length=4_096)]
BudgetQuery = Annotated[int | None, query("Maximum number of requests, up to 100.", ge=0, le=100)]
routes = Routes("/", "lists")


@routes.post("/import", "write", "bad-list bad-parameter", body=bytes, takes=_LISTS)
async def import_list(request: AnyRequest, tag: TagsQuery = None) -> Imported:
    """Subscribe to every feed of a list: OPML, or JSON with `feeds`."""
    responses.check_content_type(request, _LISTS)
    state = app_state_of(request)
    data = await responses.read_body(request, state.config.import_bytes)
    return await subscriptions.import_list(data, state.services, tags=tag or ())


@routes.get("/export.opml", "read", gives=str, media_type=OPML)
async def export_list(request: AnyRequest, tag: TagIs = None) -> Response[bytes]:
    """Export all subscriptions as OPML 2.0, without credentials."""
    body = await subscriptions.export_opml(services_of(request), tag=tag)
    name = {"Content-Disposition": 'attachment; filename="feedmill.opml"'}
    return responses.bytes_response(request, body, OPML, headers=name)


@routes.post("/canonicalize", "write", "bad-address no-feed-found invalid-body", body=CanonicalWish)
async def canonicalize(request: AnyRequest) -> CanonicalShape:
    """Find and verify the canonical address of a feed."""
    wish = await responses.read_json(request, CanonicalWish)
    state = app_state_of(request)
    return await subscriptions.canonicalize(wish.url, state.services, state.subscriber)


# Its scope is write: it sends requests.
@routes.get("/discover", "write", "bad-address no-feed-found bad-parameter cross-origin")
async def discover(
    request: AnyRequest, url: AddressQuery, budget: BudgetQuery = None
) -> DiscoveredShape:
    """List the feeds that an address leads to, what was tried and what it cost; nothing is stored."""
    # A page of another site must not make this server send requests, even if it cannot read the answer.
    headers = {name: value.decode("latin-1") for name, value in request.scope["headers"]}
    if is_cross_origin(headers):
        raise RequestError(code="cross-origin")
    state = app_state_of(request)
    wish = DiscoverWish(url=url, budget=budget)
    return await subscriptions.discover(wish, state.services, state.subscriber)
