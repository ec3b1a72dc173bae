"""The fetcher: one GET through guard, limits and decoders, redirect by redirect, with libcurl.

Each hop is checked as a URL, resolved, checked with its addresses, and then dialled at one of
these addresses and nowhere else. A stranger's fault is a RawResponse with its reason.
"""

import asyncio
from collections.abc import Sequence
from functools import lru_cache, partial

import msgspec
import pycurl

from feedmill.adapters.http.handle import Handle, Request
from feedmill.adapters.http.pace import PaceWatch
from feedmill.adapters.http.proxies import Proxy, read_proxy
from feedmill.adapters.http.pump import Ended, Pump
from feedmill.adapters.http.reasons import is_cut, reason_of
from feedmill.adapters.http.resolver import Resolver, SystemResolver
from feedmill.adapters.http.tls import SessionCaches, trust_store
from feedmill.adapters.http.transfer import REDIRECTS, Answer, Transfer
from feedmill.config import FetchConfig
from feedmill.engine.ports import Clock
from feedmill.errors import UsageError
from feedmill.fetch.addresses import check_address
from feedmill.fetch.guard import check_url
from feedmill.fetch.headers import header_value
from feedmill.fetch.plan import headers_for_hop
from feedmill.fetch.redirects import next_hop
from feedmill.model.base import Value
from feedmill.model.fetch import Allowed, FetchPlan, Follow, Headers, Hop, RawResponse, Refused

_MAX_IDLE_HANDLES = 512

_UNREACHED = frozenset({"connection-failed", "timeout-connect"})
# A redirect whose body we do not care for is followed all the same, unless time ran out.
_LATE = frozenset({"timeout", "timeout-connect", "too-slow"})


class _Way(Value):
    """How to reach servers in one fetch, and until when."""

    plan: FetchPlan
    deadline: float  # by the monotonic clock
    verify_tls: bool
    proxy: Proxy | None


class CurlFetcher:
    """The `Fetcher` on libcurl; made for one event loop, closed by whoever made it."""

    def __init__(
        self, config: FetchConfig, clock: Clock, *, resolver: Resolver | None = None
    ) -> None:
        self._config = config
        self._clock = clock
        self._resolver = resolver or _system_resolver(config, clock)
        self._ca_file = trust_store(config.ca_file)
        self._pump = Pump(max_idle_connections=config.max_idle_connections)
        self._pace = PaceWatch(clock, read_timeout_sec=config.read_timeout_ms / 1000)
        self._sessions = SessionCaches(config.tls_sessions)
        self._idle: list[Handle] = []
        self._busy: set[Handle] = set()
        self._closed = False

    async def fetch(
        self, plan: FetchPlan, *, verify_tls: bool = True, proxy: str | None = None
    ) -> RawResponse:
        """The last answer of the chain that begins at the plan's URL, or why there is none."""
        if self._closed:
            msg = "the fetcher is closed"
            raise UsageError(msg)
        way = _Way(
            plan=plan,
            deadline=self._clock.monotonic() + plan.limits.timeout_ms / 1000,
            verify_tls=verify_tls,
            proxy=None if proxy is None else read_proxy(proxy),
        )
        url, headers = plan.url, plan.headers
        hops: tuple[Hop, ...] = ()
        while True:
            url, answer = await self._ask(url, headers, way)
            response = _response(plan, url, headers, hops, answer)
            if answer.status not in REDIRECTS or answer.error in _LATE:
                return response
            location = header_value(answer.headers, "location")
            step = self._step(url, answer.status, location, hops, plan)
            if isinstance(step, Refused):
                return msgspec.structs.replace(response, error=step.reason, detail=step.detail)
            hops = (*hops, Hop(url=url, status=answer.status, location=location or ""))
            url, headers = step.url, headers_for_hop(plan, step.url)

    async def close(self) -> None:
        """Drop all connections, transfers and questions to the resolver."""
        if self._closed:
            return
        self._closed = True
        await self._resolver.close()
        self._pace.close()
        self._pump.close()
        for handle in (*self._idle, *self._busy):
            handle.close()
        self._idle.clear()
        self._busy.clear()
        self._sessions.close()

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

    async def _ask(self, url: str, headers: Headers, way: _Way) -> tuple[str, Answer]:
        """One hop: the URL as it was dialled, and what came of it."""
        target = await self._vet(url, way)
        if isinstance(target, Answer):
            return url, target
        if way.proxy is None:
            return target.url, await self._attempts(target, target.addresses, headers, way)
        addresses = await self._resolve(way.proxy.host, way)
        if not addresses:
            return url, Answer(error="dns-failure", detail="the proxy has no address")
        # libcurl tries a proxy's addresses by itself; one request holds them all.
        request = self._request(target, addresses, headers, way)
        return target.url, await self._transfer(request, target, way)

    async def _vet(self, url: str, way: _Way) -> Allowed | Answer:
        """The URL with the addresses that may be dialled for it, or why not."""
        allow_cidrs = self._config.allow_cidrs
        verdict = check_url(url, allow_cidrs=allow_cidrs)
        # Behind a proxy the name is the proxy's to resolve; literal addresses were checked.
        if isinstance(verdict, Allowed) and verdict.needs_addresses and way.proxy is None:
            addresses = await self._resolve(verdict.host, way)
            if not addresses:
                return Answer(error="dns-failure", detail=f"no address for {verdict.host}")
            verdict = self._with_addresses(verdict, addresses)
        if isinstance(verdict, Refused):
            return Answer(error=verdict.reason, detail=verdict.detail)
        return verdict

    def _with_addresses(self, verdict: Allowed, addresses: tuple[str, ...]) -> Allowed | Refused:
        if self._config.allow_cidrs:  # names and ports may be open because of where they lead
            return check_url(verdict.url, addresses, allow_cidrs=self._config.allow_cidrs)
        # What check_url says about the URL does not change; only the addresses are new. Reading
        # the URL a second time would cost as much as everything else here together.
        refusals = (refusal for a in addresses if (refusal := _refusal(a)) is not None)
        return next(refusals, None) or msgspec.structs.replace(verdict, addresses=addresses)

    async def _resolve(self, host: str, way: _Way) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(self._left_sec(way)):
                return await self._resolver.resolve(host)
        except TimeoutError:
            return ()

    async def _attempts(
        self, target: Allowed, addresses: Sequence[str], headers: Headers, way: _Way
    ) -> Answer:
        """Ask one address after another; go round again only while connections fail (003)."""
        wait_sec = self._config.retry_wait_ms / 1000
        answer = Answer(error="connection-failed")
        for attempt in range(self._config.connection_attempts):
            lap, number = divmod(attempt, len(addresses))
            if lap and number == 0:
                if answer.error != "connection-failed" or self._left_sec(way) <= wait_sec:
                    return answer
                await self._clock.sleep(wait_sec)
                wait_sec *= 2
            last = number == len(addresses) - 1
            request = self._request(target, (addresses[number],), headers, way, patient=last)
            answer = await self._transfer(request, target, way)
            if answer.error not in _UNREACHED or self._left_sec(way) <= 0:
                return answer
        return answer

    def _request(
        self,
        target: Allowed,
        addresses: tuple[str, ...],
        headers: Headers,
        way: _Way,
        *,
        patient: bool = True,
    ) -> Request:
        # An address that does not answer must leave time for the next one: IPv6 is often broken.
        connect_timeout_ms = self._config.connect_timeout_ms
        return Request(
            url=target.url,
            headers=headers,
            addresses=addresses,
            timeout_ms=max(1, int(self._left_sec(way) * 1000)),
            connect_timeout_ms=connect_timeout_ms if patient else connect_timeout_ms // 3,
            verify_tls=way.verify_tls,
            proxy=way.proxy,
        )

    async def _transfer(self, request: Request, target: Allowed, way: _Way) -> Answer:
        """One request on one handle, from the dial to the last octet."""
        transfer = Transfer(way.plan.limits)
        handle = self._take_handle()
        sessions = self._sessions.of(target.host) if target.url.startswith("https") else None
        try:
            handle.aim(request, transfer, sessions)
            self._pace.begin(transfer, way.plan.limits, partial(self._pump.end, handle.curl))
            ended = await self._pump.perform(handle.curl)
            return _answer(transfer, ended, handle)
        finally:
            self._pace.leave(transfer)
            self._put_back(handle)

    def _take_handle(self) -> Handle:
        if self._idle:
            handle = self._idle.pop()
        else:
            handle = Handle(ca_file=self._ca_file, allow_cidrs=self._config.allow_cidrs)
        self._busy.add(handle)
        return handle

    def _put_back(self, handle: Handle) -> None:
        if self._closed:  # and the handle with us
            return
        self._busy.discard(handle)
        handle.rest()
        if len(self._idle) < _MAX_IDLE_HANDLES:
            self._idle.append(handle)
        else:
            handle.close()

    def _left_sec(self, way: _Way) -> float:
        return way.deadline - self._clock.monotonic()


_refusal = lru_cache(maxsize=4_096)(check_address)


def _answer(transfer: Transfer, ended: Ended, handle: Handle) -> Answer:
    if ended.code == pycurl.E_OK or transfer.ended_here:
        return transfer.answer()
    if handle.refused:
        return Answer(error="private-address", detail=handle.refused)
    if transfer.has_header and is_cut(ended.code):
        return transfer.answer(cut=True)
    # libcurl's own times do not tell a handshake that hangs from an answer that does.
    asked = handle.curl.getinfo(pycurl.REQUEST_SIZE) > 0
    reason = reason_of(ended.code, asked=asked)
    return transfer.answer(reason, _printable(ended.message), cut=transfer.has_header)


def _response(
    plan: FetchPlan, url: str, headers: Headers, hops: tuple[Hop, ...], answer: Answer
) -> RawResponse:
    return RawResponse(
        url=plan.url,
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
    )


def _printable(message: str) -> str:
    return "".join(c if c.isprintable() else " " for c in message[:200])


def _system_resolver(config: FetchConfig, clock: Clock) -> SystemResolver:
    return SystemResolver(
        clock,
        timeout_sec=config.dns_timeout_ms / 1000,
        cache_sec=config.dns_cache_sec,
        cache_hosts=config.dns_cache_hosts,
    )
