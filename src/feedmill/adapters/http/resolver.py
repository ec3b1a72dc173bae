"""DNS resolver: the system's own, off the event loop, with a bounded cache.

The system's answer carries no lifetime, so ours is a setting. Whatever comes out of here is
shown to the guard and pinned: libcurl itself never resolves a name.

`AddressCheck` checks where a request may go: the guard on the URL, then on every address of its host.
"""

import asyncio
import contextlib
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Protocol

import msgspec

from feedmill.adapters.http.response_buffer import BufferedResponse
from feedmill.engine.ports.clock import Clock
from feedmill.fetch.guard import check_url
from feedmill.fetch.public_addresses import check_address
from feedmill.model.fetch import Allowed, Refused

LookupHost = Callable[[str], tuple[str, ...]]

_THREADS = 32
_FAILURE_SEC = 10.0  # a name that failed is not asked for again at once


# The guard is pure: what it said about a feed's URL it will say at the next poll.
_verdict = lru_cache(maxsize=16_384)(check_url)

_refusal = lru_cache(maxsize=4_096)(check_address)


class Resolver(Protocol):
    """The addresses of a host, best first; nothing when it has none or they are unknown."""

    async def resolve(self, host: str) -> tuple[str, ...]: ...
    async def close(self) -> None: ...


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


class SystemResolver:
    """The machine's own resolver, asked once per host and lifetime however many callers wait."""

    def __init__(
        self,
        clock: Clock,
        *,
        timeout_sec: float,
        cache_sec: float,
        cache_hosts: int,
        lookup: LookupHost | None = None,
    ) -> None:
        self._clock = clock
        self._timeout_sec = timeout_sec
        self._cache_sec = cache_sec
        self._cache_hosts = cache_hosts
        self._lookup = lookup or look_up_host
        self._known: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._threads = asyncio.Semaphore(_THREADS)

    async def resolve(self, host: str) -> tuple[str, ...]:
        if (literal := _as_literal(host)) is not None:
            return (literal,)
        known = self._known.get(host)
        if known is not None and known[0] > self._clock.monotonic():
            return known[1]
        return await self._ask(host)

    async def close(self) -> None:
        """End the open questions; threads that still wait for a name server end with it."""
        asked = list(self._asked.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    async def _ask(self, host: str) -> tuple[str, ...]:
        asked = self._asked.get(host)
        if asked is None:
            asked = asyncio.get_running_loop().create_task(self._look_up(host))
            self._asked[host] = asked
        try:
            # Shielded: a caller that gives up leaves the lookup to the others that wait for it.
            return await asyncio.wait_for(asyncio.shield(asked), self._timeout_sec)
        except TimeoutError:
            return ()

    async def _look_up(self, host: str) -> tuple[str, ...]:
        try:
            async with self._threads:
                addresses = await _in_thread(self._lookup, host)
            self._remember(host, addresses)
            return addresses
        finally:
            self._asked.pop(host, None)

    def _remember(self, host: str, addresses: tuple[str, ...]) -> None:
        lifetime = self._cache_sec if addresses else min(self._cache_sec, _FAILURE_SEC)
        self._known[host] = (self._clock.monotonic() + lifetime, addresses)
        self._known.move_to_end(host)
        while len(self._known) > self._cache_hosts:
            self._known.popitem(last=False)


def look_up_host(host: str) -> tuple[str, ...]:
    """Every address the system knows for the name, in its order of preference; blocks."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # a gaierror is an OSError; an impossible name is the other
        return ()
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def _as_literal(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


async def _in_thread(lookup: LookupHost, host: str) -> tuple[str, ...]:
    # A daemon of its own instead of a pool: a pool is waited for when the program ends, and a
    # silent name server would hold it up for half a minute.
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[str, ...]] = loop.create_future()
    threading.Thread(target=_work, args=(loop, answer, lookup, host), daemon=True).start()
    return await answer


def _work(
    loop: asyncio.AbstractEventLoop,
    answer: asyncio.Future[tuple[str, ...]],
    lookup: LookupHost,
    host: str,
) -> None:
    try:
        addresses = lookup(host)
    except Exception:  # noqa: BLE001  # the edge of a thread: a lookup that breaks has no answer
        addresses = ()
    # The loop may have closed meanwhile: then no task waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, answer, addresses)


def _settle(answer: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...]) -> None:
    if not answer.done():
        answer.set_result(addresses)
