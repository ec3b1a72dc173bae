"""Store protocol: records of requests, and the scheduling decisions after them."""

from typing import Protocol

from feedmill.model.feed import FetchRecord
from feedmill.model.page import Page
from feedmill.model.schedule import Decision


class FetchStore(Protocol):
    """Records of requests, and the scheduling decisions after them."""

    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]: ...
    async def fetch(self, fetch_id: str) -> FetchRecord | None: ...
    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]: ...
