"""Routes /hosts: which hosts pause or fail, and what is held for them."""
# Tested in tests/integration/interfaces/rest/

from litestar import Response, Router, get
from litestar.response import Stream

from feedmill.engine.service.feeds import hosts
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import Cursor, HostName, Limit, TroubledQuery
from feedmill.interfaces.rest.responses import json_response, list_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.figure_shapes import HostPage, HostShape


@get("/", **describe("listHosts", "read", HostPage, "bad-cursor", lines=True))
async def list_hosts(
    request: AnyRequest,
    troubled: TroubledQuery = False,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response[bytes] | Stream:
    """List hosts with their state: pauses, incidents, held feeds, the canary."""
    services = services_of(request)
    return await list_response(
        request,
        lambda after: hosts.list_hosts(services, troubled=troubled, cursor=after, limit=limit),
        cursor,
    )


@get("/{host:str}", **describe("getHost", "read", HostShape, "not-found"))
async def get_host(request: AnyRequest, host: HostName) -> Response[bytes]:
    """Get the state of one host."""
    return json_response(request, await hosts.get_host(host, services_of(request)))


host_routes = Router("/hosts", tags=["care"], route_handlers=[list_hosts, get_host])
