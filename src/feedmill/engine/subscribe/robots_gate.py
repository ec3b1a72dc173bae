"""robots.txt check before requests that a program thought of by itself (RFC 9309).

A subscribed feed is never checked here, and neither is an address that a person gave: they asked
for it. The gate is for guesses.
"""

import asyncio
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.config import FetchConfig
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import ACCEPT_ROBOTS, plan_fetch
from feedmill.fetch.robots import MAX_AGE_SEC, Rules, decode_robots, robots_access
from feedmill.model.fetch import Failed, FetchPlan, RawResponse, Unchanged, Verdict

MAX_ORIGINS: Final = 10_000  # remembered; the oldest goes
RETRY_SEC: Final = 900  # an origin without an answer is asked again after that long
_MAX_REDIRECTS: Final = 5  # RFC 9309 2.3.1.2
_BUSY: Final = frozenset({429, 503})


class RobotsGate:
    """What the robots.txt of every origin says, fetched once a day and shared by all callers."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        config: FetchConfig,
        host_queue: HostQueue | None = None,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        origins: "dict[str, RobotsOrigin] | None" = None,  # shared by several gates
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._config = config
        self._host_queue = host_queue  # None: the fetcher's owner keeps the host's pace
        self._verify_tls, self._proxy = verify_tls, proxy  # as in the requests it is asked about
        self._origins: dict[str, RobotsOrigin] = {} if origins is None else origins

    async def allows(self, url: str) -> bool:
        """Whether robots.txt of the URL's origin lets us fetch it; False for no http(s) URL."""
        rules = await self._rules(url)
        return rules if isinstance(rules, bool) else rules.allow(url)

    async def crawl_delay(self, url: str) -> float | None:
        """Seconds between two requests that the origin asks for, or None."""
        rules = await self._rules(url)
        if isinstance(rules, bool):
            return None
        return rules.crawl_delay(max_sec=self._config.crawl_delay_max_sec)

    async def _rules(self, url: str) -> Rules | bool:
        """The origin's rules, or one answer for everything on it."""
        address = robots_url(url)
        if address is None:
            return False
        origin = self._origin(address)
        async with origin.lock:  # the second caller finds the answer of the first
            if origin.is_stale(self._clock.now()):
                await self._ask(address, origin)
        return origin.rules

    def _origin(self, robots_url: str) -> "RobotsOrigin":
        known = self._origins.get(robots_url)
        if known is None:
            if len(self._origins) >= MAX_ORIGINS:
                del self._origins[next(iter(self._origins))]
            known = self._origins[robots_url] = RobotsOrigin()
        return known

    async def _ask(self, robots_url: str, origin: "RobotsOrigin") -> None:
        plan = _plan(robots_url, self._config)
        response = await self._fetch(plan)
        now = self._clock.now()
        error = _error(response)
        access = robots_access(
            response.status, error=error, unreachable_sec=origin.unreachable_sec(now)
        )
        if access == "use_rules":
            text = decode_robots(response.body, self._config.robots_max_bytes)
            origin.answered(Rules(text, self._config.robots_product), now)
        elif _is_unreachable(response, error):
            origin.failed(now, is_forgiven=access == "allow_all")
        else:
            origin.answered(access == "allow_all", now)

    async def _fetch(self, plan: FetchPlan) -> RawResponse:
        if self._host_queue is None:
            return (await self._send(plan)).response
        answer = await self._host_queue.send(plan.url, lambda: self._send(plan))
        if isinstance(answer, Failed):
            return RawResponse(url=plan.url, final_url=plan.url, error="rate-limited")
        return answer.response

    async def _send(self, plan: FetchPlan) -> Answer:
        response = await self._fetcher.fetch(plan, verify_tls=self._verify_tls, proxy=self._proxy)
        now = self._clock.now()
        verdict = _verdict(response, plan, now)
        return Answer(url=plan.url, response=response, verdict=verdict, at=now)


class RobotsOrigin:
    """What is known of one origin."""

    __slots__ = ("asked_at", "failing_since", "lock", "rules")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.rules: Rules | bool = False
        self.asked_at: datetime | None = None
        self.failing_since: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Never asked, too long ago, or (when the clock was put back) in the future."""
        if self.asked_at is None:
            return True
        age_sec = (now - self.asked_at).total_seconds()
        return not 0 <= age_sec <= (MAX_AGE_SEC if self.failing_since is None else RETRY_SEC)

    def unreachable_sec(self, now: datetime) -> float:
        """For how long there has been no answer."""
        since = self.failing_since
        return 0.0 if since is None else (now - since).total_seconds()

    def answered(self, rules: Rules | bool, now: datetime) -> None:
        """The origin said what it wants, or that it has no rules."""
        self.rules, self.asked_at, self.failing_since = rules, now, None

    def failed(self, now: datetime, *, is_forgiven: bool) -> None:
        """No answer: rules that were read before go on to hold (RFC 9309 2.4), else nothing may.

        After a month without an answer it is as if there were no rules (2.3.1.4).
        """
        self.asked_at, self.failing_since = now, self.failing_since or now
        if not isinstance(self.rules, Rules):
            self.rules = is_forgiven


def allows_by_robots(response: RawResponse, url: str, config: FetchConfig) -> bool:
    """Whether the answer for robots.txt lets us fetch the URL; no answer does not."""
    access = robots_access(response.status, error=_error(response))
    if access == "use_rules":
        text = decode_robots(response.body, config.robots_max_bytes)
        return Rules(text, config.robots_product).allow(url)
    return access == "allow_all"


def robots_url(url: str) -> str | None:
    """The address of the rules that hold for a URL; None for no http(s) URL."""
    href = http_url(url)
    if href is None:
        return None
    return join_url(
        replace(split_url(href), userinfo="", path="/robots.txt", query=None, fragment=None)
    )


def _plan(robots_url: str, config: FetchConfig) -> FetchPlan:
    plan = plan_fetch(robots_url, None, config, accept=ACCEPT_ROBOTS)
    limits = replace(
        plan.limits,
        max_redirects=_MAX_REDIRECTS,
        # One octet more than is read, so that a cut line is known as one.
        max_body_bytes=config.robots_max_bytes + 1,
    )
    return replace(plan, limits=limits)


def _error(response: RawResponse) -> str | None:
    """Why there are no rules to read, although there may be a status."""
    if response.error is None and response.truncated:
        return "truncated"
    if response.error is None and response.capped and not response.body:
        return "too-large"  # so large that nothing of it was read
    return response.error


def _is_unreachable(response: RawResponse, error: str | None) -> bool:
    """RFC 9309 2.3.1.4, the other way round: everything that is neither a file nor a "no"."""
    return robots_access(response.status, error=error) == "disallow_all"


def _verdict(response: RawResponse, plan: FetchPlan, now: datetime) -> Verdict:
    """What the answer says about the host's pace; a missing robots.txt is no failure."""
    if response.status is None or response.status in _BUSY:
        return judge(response, plan, now)
    return Unchanged()
