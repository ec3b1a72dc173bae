"""The cases of a feedcanon.json as a real web: bodies, redirects and TLS on loopback.

Every authority of a case gets a host name of its own on the one port of the web. The search sees the
case's URLs; only the wire knows the names.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from msgspec.structs import replace
from tools.loopback_web import LoopbackWeb

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import Config, FetchConfig, HostConfig
from feedmill.engine.ports.io import BodyRoom, Clock
from feedmill.engine.subscribe.canonicalise import Prober, ProbeUrl, Reply
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.model.fetch import FetchPlan, RawResponse
from feedmill_demo.server.script import Answer, Request, document, hang_up, redirect
from feedmill_demo.server.site import Site

_DOMAIN: Final = "loopback.test"
_WIRE_HOST: Final = re.compile(rf"h([0-9]+)\.{re.escape(_DOMAIN)}(?::[0-9]+)?")
_AUTHORITY: Final = re.compile(r"(https?://(?:[^/?#@]*@)?)([^/?#@]+)")


@asynccontextmanager
async def looking(
    case: dict[str, Any],
    answer: Callable[[str], Reply],
    hash_fn: Callable[[bytes], str] | None,
) -> AsyncIterator[ProbeUrl]:
    """A way of looking at a case that passes through sockets, TLS and the fetcher."""
    wire = _Wire()
    served = _with_destinations(case, answer)
    sites = (_CaseSite("http", served, wire), _CaseSite("https", served, wire))
    async with LoopbackWeb(f"*.{_DOMAIN}", sites=sites) as web:
        wire.port = web.port
        clock = SystemClock()
        opened = (*web.fetching().allow_cidrs, "2001:db8::/32")  # one case is at such an address
        config = Config(
            fetch=replace(web.fetching(), allow_cidrs=opened, allow_downgrade=True),
            host=HostConfig(min_gap_ms=0, rps=0),
        )
        fetcher = _Renamed(config.fetch, clock, web, wire)
        host_queue = HostQueue(clock, config.host)
        prober = Prober(fetcher, clock, config, host_queue, hash_fn=hash_fn)
        try:
            yield prober.probe
        finally:
            await fetcher.close()


def _with_destinations(
    case: dict[str, Any], answer: Callable[[str], Reply]
) -> Callable[[str], Reply]:
    """The answers, and at the end of each redirect what was said to come from there."""
    ends = {
        told["finalUrl"]: url
        for url, told in case["responses"].items()
        if "error" not in told and told["finalUrl"] not in case["responses"]
    }

    def served(url: str) -> Reply:
        return replace(answer(ends[url]), url=url) if url in ends else answer(url)

    return served


class _Wire:
    """Which host name stands for which authority."""

    def __init__(self) -> None:
        self.port = 0
        self._authorities: list[str] = []

    def outward(self, url: str) -> str:
        """The URL as the wire spells it."""
        return _AUTHORITY.sub(lambda match: match[1] + self._name(match[2]), url, count=1)

    def inward(self, url: str) -> str:
        """The URL as the case spells it."""
        return _WIRE_HOST.sub(lambda match: self._authorities[int(match[1])], url)

    def _name(self, authority: str) -> str:
        if authority not in self._authorities:
            self._authorities.append(authority)
        return f"h{self._authorities.index(authority)}.{_DOMAIN}:{self.port}"


class _CaseSite(Site):
    """Answers as the case says."""

    def __init__(self, scheme: str, answer: Callable[[str], Reply], wire: _Wire) -> None:
        self._scheme = scheme
        self._answer = answer
        self._wire = wire

    def answer(self, request: Request) -> Answer | None:
        url = self._wire.inward(f"{self._scheme}://{request.header('host')}{request.target}")
        try:
            reply = self._answer(url)
        except ConnectionError:
            return hang_up()
        if reply.url != url:
            return redirect(self._wire.outward(reply.url))
        body = reply.body if isinstance(reply.body, bytes) else reply.body.encode()
        return replace(document(body, "application/atom+xml"), status=reply.status)


class _Renamed(CurlFetcher):
    """The fetcher, going by the names of the wire."""

    def __init__(self, config: FetchConfig, clock: Clock, web: LoopbackWeb, wire: _Wire) -> None:
        super().__init__(config, clock, resolver=web)
        self._wire = wire

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,  # noqa: ARG002  # small bodies only
    ) -> RawResponse:
        """The answer, with the case's URLs in it."""
        renamed = replace(plan, url=self._wire.outward(plan.url))
        response = await super().fetch(renamed, verify_tls=verify_tls, proxy=proxy)
        inward = self._wire.inward
        return replace(
            response,
            url=plan.url,
            final_url=inward(response.final_url),
            hops=tuple(
                replace(hop, url=inward(hop.url), location=inward(hop.location))
                for hop in response.hops
            ),
        )
