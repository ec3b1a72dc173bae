"""Routes /hosts: which hosts pause or fail, and what is held for them."""
# Tested in tests/integration/interfaces/rest/

from functools import partial

from feedmill.engine.service import hosts
from feedmill.interfaces.rest.parameters import Cursor, HostName, Limit, TroubledQuery
from feedmill.interfaces.rest.responses import ListAnswer, list_response
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.figure_shapes import HostPage, HostShape

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
