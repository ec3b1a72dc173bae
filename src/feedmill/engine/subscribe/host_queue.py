"""Politeness of requests that no lane makes: a queue per host, and robots.txt.

One request at a time per host, with the same gap, the same slow-down and the same respect for
Retry-After as a lane (D24). The pace begins with what the store knows of the host, and a pause that
a host asks for here is stored, so that it binds its lane as well.

robots.txt check before requests that a program thought of by itself (RFC 9309).

A subscribed feed is never checked here, and neither is an address that a person gave: they asked
for it. The gate is for guesses.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import host_key_of, http_url, join_url, split_url
from feedmill.config import FetchConfig, HostConfig
from feedmill.engine.documents.fetch_document import Answer, outcome_of
from feedmill.engine.ports.feeds import HostStore
from feedmill.engine.ports.io import Clock, Getter
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import ACCEPT_ROBOTS, plan_fetch
from feedmill.fetch.robots import MAX_AGE_SEC, Rules, decode_robots, robots_access
from feedmill.model.feed import HostPace
from feedmill.model.fetch import Failed, FetchPlan, RawResponse, Unchanged, Verdict
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after

MAX_HOSTS: Final = 20_000  # remembered, before those that have rested are forgotten
MAX_WAIT_SEC: Final = 30.0  # nothing is sent to a host that asked for a longer pause
MAX_WAITING: Final = 100  # callers for one host: behind a slow one the next would wait for an hour
NO_HTTPS_FOR: Final = timedelta(hours=1)  # how long a host without https is not tried again
_UNREACHED: Final = frozenset(
    {"connection-failed", "timeout-connect", "tls-failure", "protocol-error"}
)
MAX_ORIGINS: Final = 10_000  # remembered; the oldest goes
RETRY_SEC: Final = 900  # an origin without an answer is asked again after that long
_MAX_REDIRECTS: Final = 5  # RFC 9309 2.3.1.2
_BUSY: Final = frozenset({429, 503})


class _Host:
    """One host: its queue, and its pace once the store was asked for it."""

    __slots__ = ("ended_at", "has_answered", "no_https_until", "pace", "places", "waiting")

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.waiting = 0  # callers for a place, those who have one included
        self.pace: HostPace | None = None
        self.ended_at: datetime | None = None  # the last request
        self.has_answered = False
        self.no_https_until: datetime | None = None


class HostQueue:
    """The hosts that were asked outside a lane, each with its queue and pace."""

    def __init__(self, clock: Clock, config: HostConfig, store: HostStore | None = None) -> None:
        self._clock, self._config = clock, config
        self._store = store  # None: nothing is remembered beyond this object
        self._hosts: dict[str, _Host] = {}

    async def send(self, url: str, request: Callable[[], Awaitable[Answer]]) -> Answer | Failed:
        """Send a request when it is the host's turn; Failed, unsent, when that is too far away."""
        host = self._host(url)
        if host.waiting >= MAX_WAITING:
            detail = f"{MAX_WAITING} requests to its host are waiting already"
            return Failed(reason="rate-limited", detail=detail)
        host.waiting += 1
        try:
            async with host.places:
                return await self._send(host, url, request)
        finally:
            host.waiting -= 1

    async def _send(
        self, host: _Host, url: str, request: Callable[[], Awaitable[Answer]]
    ) -> Answer | Failed:
        pace = host.pace = await self._pace_before(host, url)
        wait = self._wait_sec(host, pace, url)
        if wait > MAX_WAIT_SEC:
            detail = f"its host asked for a pause of another {wait:.0f} s"
            return Failed(reason="rate-limited", detail=detail)
        await self._clock.sleep(wait)
        answer = await request()
        host.pace = self._pace_after(host, pace, url, answer.verdict)
        await self._store_pause(url, host.pace)
        return answer

    def _host(self, url: str) -> _Host:
        key = host_key_of(url)
        known = self._hosts.get(key)
        if known is None:
            if len(self._hosts) >= MAX_HOSTS:
                self._forget_rested()
            known = self._hosts[key] = _Host(self._config.max_concurrency)
        return known

    def _forget_rested(self) -> None:
        """Forget the hosts without a request under way whose pause is over."""
        now = self._clock.now()
        self._hosts = {
            name: host
            for name, host in self._hosts.items()
            if host.waiting or host.pace is None or host_wait_sec(host.pace, now) > 0
        }

    def lacks_https(self, url: str) -> bool:
        """Whether the host answers, and did not by https when it was last asked."""
        host = self._hosts.get(host_key_of(url))
        until = None if host is None else host.no_https_until
        return until is not None and self._clock.now() < until

    def _pace_after(self, host: _Host, pace: HostPace, url: str, verdict: Verdict) -> HostPace:
        ended_at, outcome = self._clock.now(), outcome_of(verdict)
        host.ended_at = ended_at
        is_unreached = outcome.reason in _UNREACHED
        if is_unreached and host.has_answered and url.startswith("https:"):
            # It is there, only not by https: that is no trouble of the host's.
            host.no_https_until = ended_at + NO_HTTPS_FOR
            outcome = Outcome(kind="failed", reason="not-found")
        host.has_answered = host.has_answered or not is_unreached
        return pace_after(pace, url, outcome, ended_at=ended_at, config=self._config)

    async def _store_pause(self, url: str, pace: HostPace) -> None:
        """Let the lanes know of a pause; the usual gap is not worth a write."""
        until = pace.next_ok_at
        if self._store is not None and pace.blocked_reason is not None and until is not None:
            await self._store.limit_host(url, until, pace.blocked_reason)

    async def _pace_before(self, host: _Host, url: str) -> HostPace:
        """Our own pace with the host; that of its lane, when that asks for a longer pause."""
        known = await self._store.host_pace(url) if self._store is not None else None
        if host.pace is None:
            return known or initial_pace(self._config)
        if known is None or _is_before(known.next_ok_at, host.pace.next_ok_at):
            return host.pace
        limited = tuple(dict.fromkeys((*known.limited_urls, *host.pace.limited_urls)))
        return replace(host.pace, next_ok_at=known.next_ok_at, limited_urls=limited)

    def _wait_sec(self, host: _Host, pace: HostPace, url: str) -> float:
        now = self._clock.now()
        # A clock that was put back since makes a rest no longer than it was.
        now = now if host.ended_at is None else max(now, host.ended_at)
        until = limited_until(pace, url, now)
        own = 0.0 if until is None else (until - now).total_seconds()
        return max(host_wait_sec(pace, now), own)


def _is_before(one: datetime | None, other: datetime | None) -> bool:
    return one is None or (other is not None and one <= other)


class RobotsGate:
    """What the robots.txt of every origin says, fetched once a day and shared by all callers."""

    def __init__(
        self,
        fetcher: Getter,
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
