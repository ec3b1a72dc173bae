"""Routes /clusters: the same story in several feeds."""
# Tested in tests/integration/interfaces/rest/routes/test_clusters.py

from functools import partial
from typing import Annotated

from litestar import Response, Router, get
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from feedmill.engine.service.contents import clusters
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import Cursor, Limit
from feedmill.interfaces.rest.responses import json_response, list_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import ClusterDetail, ClusterPage

ClusterId = Annotated[str, PathParameter(description="The id of a cluster.")]
MinFeeds = Annotated[
    int, QueryParameter(description="Only stories that so many feeds tell.", ge=2, le=10_000)
]


@get("/", **describe("listClusters", "read", ClusterPage, "bad-cursor", lines=True))
async def list_clusters(
    request: AnyRequest, min_feeds: MinFeeds = 2, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    """List stories that several feeds tell, the one that grew last first."""
    ask = partial(clusters.list_clusters, services_of(request), min_feeds=min_feeds)
    return await list_response(request, lambda after: ask(cursor=after, limit=limit), cursor)


@get("/{cluster_id:str}", **describe("getCluster", "read", ClusterDetail, "not-found"))
async def get_cluster(request: AnyRequest, cluster_id: ClusterId) -> Response[bytes]:
    """Get one story with its entries and the evidence that joins them."""
    return json_response(request, await clusters.get_cluster(cluster_id, services_of(request)))


cluster_routes = Router("/clusters", tags=["entries"], route_handlers=[list_clusters, get_cluster])
