"""Routes of push: hubs with what they delivered, and the subscriptions of a feed."""
# Tested in tests/integration/interfaces/rest/

from litestar import Response, Router, get, post
from litestar.response import Stream

from feedmill.engine.service.feeds import push
from feedmill.engine.service.queries import require_feed
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import FeedId
from feedmill.interfaces.rest.responses import ListPage, json_response, list_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import FeedPush, HubPage


@get("/hubs", **describe("listHubs", "read", HubPage, lines=True, conditional=False))
async def list_hubs(request: AnyRequest) -> Response[bytes] | Stream:
    """List WebSub hubs with what they delivered, in figures and in words."""
    services = services_of(request)

    async def fetch_page(_: str | None) -> ListPage:
        return await push.list_hubs(services)

    return await list_response(request, fetch_page)


@get("/feeds/{feed_id:str}/push", **describe("getFeedPush", "read", FeedPush, "not-found"))
async def get_push(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    """Get the WebSub subscriptions of a feed, and whether its hub is trusted."""
    services = services_of(request)
    return json_response(
        request, await push.feed_push(await require_feed(feed_id, services), services)
    )


@post(
    "/feeds/{feed_id:str}/push",
    **describe("subscribeFeedPush", "write", FeedPush, "not-found", "conflict", status=202),
)
async def subscribe_push(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    """Ask the hub of a feed again now."""
    services = services_of(request)
    found = await push.resubscribe(await require_feed(feed_id, services), services)
    return json_response(request, found, status=202)


push_routes = Router("/", tags=["push"], route_handlers=[list_hubs, get_push, subscribe_push])
