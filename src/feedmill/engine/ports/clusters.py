"""Store protocol: sketches of entries, the evidence between them, and clusters."""
# Tested in tests/contracts/store/test_clusters.py

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.cluster import (
    Cluster,
    ClusterChange,
    ClusterMember,
    Mirrors,
    SketchBatch,
    StoredStory,
)
from feedmill.model.event import NewEvent
from feedmill.model.job import JobStep
from feedmill.model.page import Page

ClusterEvents = Callable[[Sequence[ClusterChange]], Sequence[NewEvent]]


class ClusterStore(Protocol):
    """The same story in several feeds."""

    async def story_texts(self, entry_uids: Sequence[str]) -> tuple[StoredStory, ...]: ...
    async def save_sketches(
        self, batch: SketchBatch, *, events: ClusterEvents, step: JobStep | None = None
    ) -> tuple[ClusterChange, ...] | None: ...  # None: the job was lost
    async def repair_clusters(
        self, *, at: datetime, most: int, limit: int, events: ClusterEvents
    ) -> int: ...
    async def clusters(
        self, *, min_feeds: int = 2, after: str | None = None, limit: int = 100
    ) -> Page[Cluster]: ...
    async def cluster(self, cluster_id: str) -> Cluster | None: ...
    async def cluster_members(self, cluster_id: str) -> tuple[ClusterMember, ...]: ...
    async def mirrors(
        self, *, min_common: int, min_share: float, limit: int
    ) -> tuple[Mirrors, ...]: ...
