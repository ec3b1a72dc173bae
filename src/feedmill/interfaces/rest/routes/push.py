"""Routes of push: hubs with what they delivered, and the subscriptions of a feed."""
# Tested in tests/integration/interfaces/rest/

from feedmill.engine.service import hosts
from feedmill.engine.service.queries import require_feed
from feedmill.interfaces.rest.parameters import FeedId
from feedmill.interfaces.rest.responses import ListAnswer, list_answer
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import FeedPush, HubPage

routes = Routes("/", "push")


@routes.get("/hubs", "read", gives=HubPage, lines=True, conditional=False)
async def list_hubs(request: AnyRequest) -> ListAnswer:
    """List WebSub hubs with what they delivered, in figures and in words."""
    return list_answer(request, await hosts.list_hubs(services_of(request)))


@routes.get("/feeds/{feed_id:str}/push", "read", "not-found")
async def get_feed_push(request: AnyRequest, feed_id: FeedId) -> FeedPush:
    """Get the WebSub subscriptions of a feed, and whether its hub is trusted."""
    services = services_of(request)
    return await hosts.feed_push(await require_feed(feed_id, services), services)


@routes.post("/feeds/{feed_id:str}/push", "write", "not-found conflict", status=202)
async def subscribe_feed_push(request: AnyRequest, feed_id: FeedId) -> FeedPush:
    """Ask the hub of a feed again now."""
    services = services_of(request)
    return await hosts.resubscribe(await require_feed(feed_id, services), services)
