"""Per-host queue for requests that no lane makes: subscribe, discover, probe, collect.

One request at a time per host, with the same gap, the same slow-down and the same respect for
Retry-After as a lane (D24). The pace begins with what the store knows of the host, and a pause that
a host asks for here is stored, so that it binds its lane as well.
"""
# Tested in tests/integration/engine/subscribe/

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url, split_url
from feedmill.config import HostConfig
from feedmill.engine.documents.fetch_document import Answer, outcome_of
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.feeds import HostStore
from feedmill.model.feed import HostPace
from feedmill.model.fetch import Failed, Verdict
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after

MAX_HOSTS: Final = 20_000  # remembered, before those that have rested are forgotten
MAX_WAIT_SEC: Final = 30.0  # nothing is sent to a host that asked for a longer pause
MAX_WAITING: Final = 100  # callers for one host: behind a slow one the next would wait for an hour
NO_HTTPS_FOR: Final = timedelta(hours=1)  # how long a host without https is not tried again
_UNREACHED: Final = frozenset(
    {"connection-failed", "timeout-connect", "tls-failure", "protocol-error"}
)


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


def host_key_of(url: str) -> str:
    """The unit of politeness: the host, with the port where it is not the scheme's own."""
    href = http_url(url)
    if href is None:
        return url
    parts = split_url(href)
    return f"{parts.host}:{parts.port}" if parts.port else parts.host


def _is_before(one: datetime | None, other: datetime | None) -> bool:
    return one is None or (other is not None and one <= other)
