"""Routes /clusters: the same story in several feeds."""
# Tested in tests/integration/interfaces/rest/routes/test_clusters.py

from functools import partial
from typing import Annotated

from feedmill.engine.service import queries
from feedmill.interfaces.rest.parameters import Cursor, Limit, path, query
from feedmill.interfaces.rest.responses import ListAnswer, list_response
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import ClusterDetail, ClusterPage

ClusterId = Annotated[str, path("The id of a cluster.")]
MinFeeds = Annotated[int, query("Only stories that so many feeds tell.", ge=2, le=10_000)]
routes = Routes("/clusters", "entries")


@routes.get("/", "read", "bad-cursor", gives=ClusterPage, lines=True)
async def list_clusters(
    request: AnyRequest, min_feeds: MinFeeds = 2, cursor: Cursor = None, limit: Limit = None
) -> ListAnswer:
    """List stories that several feeds tell, the one that grew last first."""
    ask = partial(queries.list_clusters, services_of(request), min_feeds=min_feeds, limit=limit)
    return await list_response(request, ask, cursor)


@routes.get("/{cluster_id:str}", "read", "not-found")
async def get_cluster(request: AnyRequest, cluster_id: ClusterId) -> ClusterDetail:
    """Get one story with its entries and the evidence that joins them."""
    return await queries.get_cluster(cluster_id, services_of(request))
