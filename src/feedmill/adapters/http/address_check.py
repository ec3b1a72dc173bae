"""Checks where a request may go: the guard on the URL, then on every address of its host."""

import asyncio
from functools import lru_cache

import msgspec

from feedmill.adapters.http.resolver import Resolver
from feedmill.adapters.http.response_buffer import BufferedResponse
from feedmill.fetch.guard import check_url
from feedmill.fetch.public_addresses import check_address
from feedmill.model.fetch import Allowed, Refused

# The guard is pure: what it said about a feed's URL it will say at the next poll.
_verdict = lru_cache(maxsize=16_384)(check_url)
_refusal = lru_cache(maxsize=4_096)(check_address)


class AddressCheck:
    """The guard and the resolver together."""

    def __init__(self, resolver: Resolver, allow_cidrs: tuple[str, ...]) -> None:
        self._resolver = resolver
        self._allow_cidrs = allow_cidrs

    async def check(
        self, url: str, *, within_sec: float, by_proxy: bool
    ) -> Allowed | BufferedResponse:
        """The URL with the addresses that may be dialled for it, or why not."""
        verdict = _verdict(url, allow_cidrs=self._allow_cidrs)
        # Behind a proxy the name is the proxy's to resolve; literal addresses were checked.
        if isinstance(verdict, Allowed) and verdict.needs_addresses and not by_proxy:
            addresses = await self.resolve(verdict.host, within_sec=within_sec)
            if not addresses:
                return BufferedResponse(
                    error="dns-failure", detail=f"no address for {verdict.host}"
                )
            verdict = self._with_addresses(verdict, addresses)
        if isinstance(verdict, Refused):
            return BufferedResponse(error=verdict.reason, detail=verdict.detail)
        return verdict

    async def resolve(self, host: str, *, within_sec: float) -> tuple[str, ...]:
        """All addresses of the host; nothing when it takes too long to learn them."""
        try:
            async with asyncio.timeout(within_sec):
                return await self._resolver.resolve(host)
        except TimeoutError:
            return ()

    def _with_addresses(self, verdict: Allowed, addresses: tuple[str, ...]) -> Allowed | Refused:
        if self._allow_cidrs:  # names and ports may be open because of where they lead
            return check_url(verdict.url, addresses, allow_cidrs=self._allow_cidrs)
        # What check_url says about the URL does not change; only the addresses are new. Reading
        # the URL a second time would cost as much as the rest of a fetch in Python.
        refusals = (refusal for a in addresses if (refusal := _refusal(a)) is not None)
        return next(refusals, None) or msgspec.structs.replace(verdict, addresses=addresses)
