"""Clusters for every interface: stories that several feeds tell."""
# Tested in tests/integration/engine/jobs/test_cluster.py

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import clamp_limit
from feedmill.errors import required
from feedmill.model.base import filled
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.publish.shapes import ClusterDetail, ClusterPage


async def list_clusters(
    services: Services, *, min_feeds: int = 2, cursor: str | None = None, limit: int | None = None
) -> ClusterPage:
    """Stories that at least `min_feeds` feeds tell, the one that grew last first."""
    page = await services.store.clusters(
        min_feeds=min_feeds, after=read_cursor("clusters", cursor), limit=clamp_limit(limit)
    )
    return ClusterPage(items=page.items, next=write_cursor("clusters", page.next))


async def get_cluster(cluster_id: str, services: Services) -> ClusterDetail:
    """One story with the entries that tell it."""
    found = await services.store.cluster(cluster_id)
    known = required(found, f"there is no cluster {cluster_id}", "list them: feedmill clusters")
    members = await services.store.cluster_members(cluster_id)
    return filled(ClusterDetail, known, members=members)
