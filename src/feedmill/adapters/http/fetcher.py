"""The fetcher: one request through guard, limits and decoders, redirect by redirect, with libcurl.

Each hop is checked as a URL, resolved, checked with its addresses, and then dialled at one of
these addresses and nowhere else. A fault of the server is a RawResponse with its reason.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from feedmill.adapters.http.connection import (
    UNREACHED,
    Connections,
    MaySend,
    alternate_families,
    send_to_first,
)
from feedmill.adapters.http.curl_handle import CurlRequest
from feedmill.adapters.http.resolver import AddressCheck, AsyncResolver, Resolver, SystemResolver
from feedmill.adapters.http.response_buffer import REDIRECTS, BufferedResponse
from feedmill.config import FetchConfig
from feedmill.engine.ports.io import BodyRoom, BodySink, Clock
from feedmill.errors import UsageError
from feedmill.fetch.headers import header_value
from feedmill.fetch.plan import headers_for_hop, next_hop
from feedmill.fetch.proxy import Proxy, read_proxy
from feedmill.model.base import Value
from feedmill.model.fetch import (
    Allowed,
    FetchLimits,
    FetchPlan,
    Follow,
    Headers,
    Hop,
    Post,
    RawResponse,
    Refused,
)
from feedmill.observe.traces import span

# A redirect whose body we do not care for is followed all the same, unless time ran out.
_LATE = frozenset({"timeout", "timeout-connect", "too-slow"})


class _FetchContext(Value):
    """How to reach servers in one fetch, and until when."""

    limits: FetchLimits
    deadline: float  # by the monotonic clock
    verify_tls: bool = True
    proxy: Proxy | None = None
    body: bytes | None = None  # of a POST
    send_before: float | None = None  # by the monotonic clock
    sink: BodySink | None = None  # of a download
    bytes_per_sec: int = 0
    room: BodyRoom | None = None  # for a large body


class CurlFetcher:
    """The `Fetcher` on libcurl; made for one event loop, closed by its creator."""

    def __init__(
        self, config: FetchConfig, clock: Clock, *, resolver: Resolver | None = None
    ) -> None:
        self._config = config
        self._clock = clock
        self._resolver = resolver or _new_resolver(config, clock)
        self._address_check = AddressCheck(self._resolver, config.allow_cidrs, config.only_hosts)
        self._wires = Connections(config, clock)
        self._reached: OrderedDict[str, str] = OrderedDict()  # of hosts with several addresses
        self._closed = False

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,
    ) -> RawResponse:
        """The last answer of the chain that begins at the plan's URL, or why there is none."""
        way = self._way(plan, verify_tls=verify_tls, proxy=proxy, room=room)
        return await self._follow(plan, way)

    async def download(
        self,
        plan: FetchPlan,
        sink: BodySink,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        bytes_per_sec: int = 0,
    ) -> RawResponse:
        """The last answer of the chain; the body of a 200 or 206 goes to the sink."""
        way = self._way(plan, verify_tls=verify_tls, proxy=proxy)
        streamed = msgspec.structs.replace(way, sink=sink, bytes_per_sec=bytes_per_sec)
        return await self._follow(plan, streamed)

    def _way(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool,
        proxy: str | None,
        room: BodyRoom | None = None,
    ) -> _FetchContext:
        self._check_open()
        return _FetchContext(
            limits=plan.limits,
            deadline=self._deadline(plan.limits),
            verify_tls=verify_tls,
            proxy=None if proxy is None else read_proxy(proxy),
            send_before=plan.send_before,
            room=room,
        )

    async def _follow(self, plan: FetchPlan, way: _FetchContext) -> RawResponse:
        """One hop after another until the answer is no redirect."""
        url, headers = plan.url, plan.headers
        hops: tuple[Hop, ...] = ()
        retries = 0
        while True:
            url, answer = await self._ask(url, headers, way)
            retries += answer.retries
            response = _response(plan.url, url, headers, hops, answer, retries)
            if answer.status not in REDIRECTS or answer.error in _LATE:
                return response
            location = header_value(answer.headers, "location")
            step = self._step(url, answer.status, location, hops, plan)
            if isinstance(step, Refused):
                return msgspec.structs.replace(response, error=step.reason, detail=step.detail)
            hops = (*hops, Hop(url=url, status=answer.status, location=location or ""))
            url, headers = step.url, headers_for_hop(plan, step.url)

    async def post(self, post: Post) -> RawResponse:
        """The answer to a POST through the same guard; a redirect is an answer, not a way to go."""
        self._check_open()
        deadline = self._deadline(post.limits)
        way = _FetchContext(
            limits=post.limits, deadline=deadline, body=post.body, send_before=post.send_before
        )
        url, answer = await self._ask(post.url, post.headers, way)
        return _response(post.url, url, post.headers, (), answer, answer.retries)

    async def close(self) -> None:
        """Drop all connections, requests under way and questions to the resolver."""
        if self._closed:
            return
        self._closed = True
        await self._resolver.close()
        self._wires.close()

    def _step(
        self, url: str, status: int, location: str | None, hops: Sequence[Hop], plan: FetchPlan
    ) -> Follow | Refused:
        return next_hop(
            url,
            status,
            location,
            hops,
            max_redirects=plan.limits.max_redirects,
            allow_downgrade=self._config.allow_downgrade,
            allow_cidrs=self._config.allow_cidrs,
        )

    async def _ask(
        self, url: str, headers: Headers, way: _FetchContext
    ) -> tuple[str, BufferedResponse]:
        """One hop: the URL as it was dialled, and what came of it."""
        with span("dns"):
            target = await self._address_check.check(
                url, within_sec=self._left_sec(way), by_proxy=way.proxy is not None
            )
        if isinstance(target, BufferedResponse):
            return url, target
        if way.proxy is not None:
            return target.url, await self._ask_proxy(target, headers, way, way.proxy)
        return target.url, await self._attempts(target, headers, way)

    async def _ask_proxy(
        self, target: Allowed, headers: Headers, way: _FetchContext, proxy: Proxy
    ) -> BufferedResponse:
        """One request that holds all addresses of the proxy: libcurl tries them by itself."""
        addresses = await self._address_check.resolve(proxy.host, within_sec=self._left_sec(way))
        if not addresses:
            return BufferedResponse(error="dns-failure", detail="the proxy has no address")
        request = self._request(target, addresses, headers, way)
        return await self._wires.send(request, target.host, way.limits)

    async def _attempts(
        self, target: Allowed, headers: Headers, way: _FetchContext
    ) -> BufferedResponse:
        """Ask the addresses of the host; go round again only while connections fail (003)."""
        wait_sec = self._config.retry_wait_ms / 1000
        left, sent = self._config.connection_attempts, 0
        while True:
            answer, asked = await self._round(target, left, headers, way)
            left, sent = left - asked, sent + asked
            if answer.error != "connection-failed" or left <= 0 or self._left_sec(way) <= wait_sec:
                break
            await self._clock.sleep(wait_sec)
            wait_sec *= 2
        return msgspec.structs.replace(answer, retries=sent - 1) if sent > 1 else answer

    async def _round(
        self, target: Allowed, most: int, headers: Headers, way: _FetchContext
    ) -> tuple[BufferedResponse, int]:
        """One answer of the host's addresses, and how many were asked."""
        if len(target.addresses) == 1:
            request = self._request(target, target.addresses, headers, way)
            return await self._wires.send(request, target.host, way.limits), 1

        async def send(address: str, may_send: MaySend | None = None) -> BufferedResponse:
            request = self._request(target, (address,), headers, way, may_send=may_send)
            return await self._wires.send(request, target.host, way.limits)

        known, asked = self._reached.get(target.host), 0
        # A name that gives other addresses every time still has the family that can be reached.
        addresses = alternate_families(target.addresses, like=known)
        if known in addresses:  # no race where the last poll had an answer
            answer = await send(known)
            if answer.error not in UNREACHED or most == 1:
                return answer, 1
            self._reached.pop(target.host, None)
            others = tuple(a for a in target.addresses if a != known)
            addresses, asked = alternate_families(others), 1
        answer, address, raced = await send_to_first(addresses[: most - asked], send)
        if answer.error not in UNREACHED:
            self._remember(target.host, address)
        return answer, asked + raced

    def _remember(self, host: str, address: str) -> None:
        """Begin with this address at the next poll: it can be reached from here."""
        self._reached[host] = address
        if len(self._reached) > self._config.dns_cache_hosts:
            self._reached.popitem(last=False)

    def _request(
        self,
        target: Allowed,
        addresses: tuple[str, ...],
        headers: Headers,
        way: _FetchContext,
        *,
        may_send: MaySend | None = None,
    ) -> CurlRequest:
        return CurlRequest(
            url=target.url,
            headers=headers,
            addresses=addresses,
            timeout_ms=max(1, int(self._left_sec(way) * 1000)),
            connect_timeout_ms=self._config.connect_timeout_ms,
            verify_tls=way.verify_tls,
            proxy=way.proxy,
            body=way.body,
            send_before=way.send_before,
            may_send=may_send,
            sink=way.sink,
            bytes_per_sec=way.bytes_per_sec,
            room=way.room,
        )

    def _check_open(self) -> None:
        if self._closed:
            msg = "the fetcher is closed"
            raise UsageError(msg)

    def _deadline(self, limits: FetchLimits) -> float:
        return self._clock.monotonic() + limits.timeout_ms / 1000

    def _left_sec(self, way: _FetchContext) -> float:
        return way.deadline - self._clock.monotonic()


def _response(
    asked: str,
    url: str,
    headers: Headers,
    hops: tuple[Hop, ...],
    answer: BufferedResponse,
    retries: int,
) -> RawResponse:
    return RawResponse(
        url=asked,
        final_url=url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        hops=hops,
        wire_length=answer.wire_length,
        truncated=answer.truncated,
        capped=answer.capped,
        error=answer.error,
        request_headers=headers,
        detail=answer.detail,
        retries=retries,
    )


def _new_resolver(config: FetchConfig, clock: Clock) -> Resolver:
    kind = AsyncResolver if config.dns_resolver == "c-ares" else SystemResolver
    return kind(
        clock,
        timeout_sec=config.dns_timeout_ms / 1000,
        cache_sec=config.dns_cache_sec,
        cache_hosts=config.dns_cache_hosts,
    )
