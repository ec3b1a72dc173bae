"""Routes /hosts: which hosts pause or fail, and what is held for them; /hubs and the WebSub subscriptions of a feed."""
# Tested in tests/integration/interfaces/rest/

from functools import partial

from feedmill.engine.service import hosts
from feedmill.engine.service.queries import require_feed
from feedmill.interfaces.rest.parameters import Cursor, FeedId, HostName, Limit, TroubledQuery
from feedmill.interfaces.rest.responses import ListAnswer, list_answer, list_response
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.figure_shapes import HostPage, HostShape
from feedmill.publish.shapes import FeedPush, HubPage

routes = Routes("/hosts", "care")


@routes.get("/", "read", "bad-cursor", gives=HostPage, lines=True)
async def list_hosts(
    request: AnyRequest,
    troubled: TroubledQuery = False,
    cursor: Cursor = None,
    limit: Limit = None,
) -> ListAnswer:
    """List hosts with their state: pauses, incidents, held feeds, the canary."""
    ask = partial(hosts.list_hosts, services_of(request), troubled=troubled, limit=limit)
    return await list_response(request, ask, cursor)


@routes.get("/{host:str}", "read", "not-found")
async def get_host(request: AnyRequest, host: HostName) -> HostShape:
    """Get the state of one host."""
    return await hosts.get_host(host, services_of(request))


push = Routes("/", "push")


@push.get("/hubs", "read", gives=HubPage, lines=True, conditional=False)
async def list_hubs(request: AnyRequest) -> ListAnswer:
    """List WebSub hubs with what they delivered, in figures and in words."""
    return list_answer(request, await hosts.list_hubs(services_of(request)))


@push.get("/feeds/{feed_id:str}/push", "read", "not-found")
async def get_feed_push(request: AnyRequest, feed_id: FeedId) -> FeedPush:
    """Get the WebSub subscriptions of a feed, and whether its hub is trusted."""
    services = services_of(request)
    return await hosts.feed_push(await require_feed(feed_id, services), services)


@push.post("/feeds/{feed_id:str}/push", "write", "not-found conflict", status=202)
async def subscribe_feed_push(request: AnyRequest, feed_id: FeedId) -> FeedPush:
    """Ask the hub of a feed again now."""
    services = services_of(request)
    return await hosts.resubscribe(await require_feed(feed_id, services), services)
