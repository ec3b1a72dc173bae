"""Port: HTTP requests through guard, limits and decoders."""
# Tested in tests/contracts/

from typing import Protocol

from feedmill.model.fetch import FetchPlan, Post, RawResponse


class Fetcher(Protocol):
    """One GET; every failure is a RawResponse with its reason, never an exception."""

    async def fetch(
        self, plan: FetchPlan, *, verify_tls: bool = True, proxy: str | None = None
    ) -> RawResponse: ...

    async def post(self, post: Post) -> RawResponse: ...  # a redirect is not followed

    async def close(self) -> None: ...
