"""A fetcher that counts the requests of one search: robots.txt and every redirect included."""
# Tested in tests/integration/engine/subscribe/test_resolve_address.py

from feedmill.engine.ports.fetcher import BodyRoom, Fetcher
from feedmill.model.fetch import FetchPlan, Post, RawResponse


class CountedFetcher:
    """Passes requests on and counts those that were sent."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self.requests = 0

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,
    ) -> RawResponse:
        response = await self._fetcher.fetch(plan, verify_tls=verify_tls, proxy=proxy, room=room)
        self.requests += len(response.hops) + int(response.error != "private-address")
        return response

    async def post(self, post: Post) -> RawResponse:
        return await self._fetcher.post(post)

    async def close(self) -> None:
        """The fetcher belongs to its owner, who closes it."""
