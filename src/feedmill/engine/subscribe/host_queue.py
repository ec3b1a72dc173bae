"""Politeness outside the schedule: who subscribes, proves or discovers waits for the host's turn.

The mill keeps a host's pace in its lane. Requests that belong to no lane pass here instead: one at
a time per host, with the same gap, the same slow-down and the same respect for Retry-After (D24),
beginning with what the store remembers of the host. A pause that a host asks for here is left
behind, so that it binds the mill as well.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url, split_url
from feedmill.config import HostConfig
from feedmill.engine.ports.clock import Clock
from feedmill.model.feed import HostPace
from feedmill.model.fetch import Failed, Gone, Verdict
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after

MAX_HOSTS: Final = 20_000  # remembered, before those that have rested are forgotten
MAX_SLOT_WAIT_SEC: Final = 30.0  # a host that wants a longer rest is left alone
NO_HTTPS_FOR: Final = timedelta(
    hours=1
)  # for so long a host without https is believed to have none
_UNREACHED: Final = frozenset(
    {"connection-failed", "timeout-connect", "tls-failure", "protocol-error"}
)
LoadPace = Callable[[str], Awaitable[HostPace | None]]
StorePause = Callable[[str, datetime, str | None], Awaitable[None]]


class HostSlot:
    """A host's turn: what came of it is told here, for whoever is next."""

    __slots__ = ("is_granted", "verdict", "wait_sec")

    def __init__(self, *, is_granted: bool, wait_sec: float = 0.0) -> None:
        self.is_granted = is_granted
        self.wait_sec = wait_sec  # how long the host wants to be left alone when it is not
        self.verdict: Verdict | None = None


class _Host:
    """One host: its queue, and its pace once the store was asked for it."""

    __slots__ = ("ended_at", "has_answered", "no_https_until", "pace", "places")

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.pace: HostPace | None = None
        self.ended_at: datetime | None = None  # the last request
        self.has_answered = False
        self.no_https_until: datetime | None = None


class HostQueue:
    """Every host that was asked outside a lane."""

    def __init__(
        self,
        clock: Clock,
        config: HostConfig,
        remember: LoadPace | None = None,
        leave: StorePause | None = None,
    ) -> None:
        self._clock = clock
        self._config = config
        self._remember = remember
        self._leave = leave
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def slot(self, url: str) -> AsyncIterator[HostSlot]:
        """Wait for the host's turn; not granted when it wants to be left alone for long."""
        host = self._host(url)
        async with host.places:
            pace = host.pace = await self._pace_before(host, url)
            wait = self._wait_sec(host, pace, url)
            if wait > MAX_SLOT_WAIT_SEC:
                yield HostSlot(is_granted=False, wait_sec=wait)
                return
            await self._clock.sleep(wait)
            turn = HostSlot(is_granted=True)
            try:
                yield turn
            finally:
                if turn.verdict is not None:
                    host.pace = self._pace_after(host, pace, url, turn.verdict)
            await self._leave_behind(url, host.pace)

    def _host(self, url: str) -> _Host:
        key = host_key_of(url)
        known = self._hosts.get(key)
        if known is None:
            if len(self._hosts) >= MAX_HOSTS:
                self._forget_rested()
            known = self._hosts[key] = _Host(self._config.max_concurrency)
        return known

    def _forget_rested(self) -> None:
        """Forget the hosts that nobody is at and that want no more rest."""
        now = self._clock.now()
        self._hosts = {
            name: host
            for name, host in self._hosts.items()
            if host.places.locked() or host.pace is None or host_wait_sec(host.pace, now) > 0
        }

    def lacks_https(self, url: str) -> bool:
        """Whether the host answers, and did not by https when it was last asked."""
        host = self._hosts.get(host_key_of(url))
        until = None if host is None else host.no_https_until
        return until is not None and self._clock.now() < until

    def _pace_after(self, host: _Host, pace: HostPace, url: str, verdict: Verdict) -> HostPace:
        ended_at, outcome = self._clock.now(), _outcome(verdict)
        host.ended_at = ended_at
        is_unreached = outcome.reason in _UNREACHED
        if is_unreached and host.has_answered and url.startswith("https:"):
            # It is there, only not by https: that is no trouble of the host's.
            host.no_https_until = ended_at + NO_HTTPS_FOR
            outcome = Outcome(kind="failed", reason="not-found")
        host.has_answered = host.has_answered or not is_unreached
        return pace_after(pace, url, outcome, ended_at=ended_at, config=self._config)

    async def _leave_behind(self, url: str, pace: HostPace) -> None:
        """Let others know of a pause; the usual gap is not worth a write."""
        until = pace.next_ok_at
        if self._leave is not None and pace.blocked_reason is not None and until is not None:
            await self._leave(url, until, pace.blocked_reason)

    async def _pace_before(self, host: _Host, url: str) -> HostPace:
        """Our own pace with the host; the mill's, when it has met the host later or longer."""
        known = await self._remember(url) if self._remember is not None else None
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


def _outcome(verdict: Verdict) -> Outcome:
    match verdict:
        case Failed():
            return Outcome(
                kind="failed",
                http_status=verdict.status,
                retry_after_sec=verdict.retry_after_sec,
                reason=verdict.reason,
            )
        case Gone():
            return Outcome(kind="failed", http_status=410, reason="gone")
        case _:
            return Outcome(kind="fresh", http_status=200)
