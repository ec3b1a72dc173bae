"""Store protocols: claim, renew and release lanes; the pace of hosts."""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.feed import Claim, HostLane, HostPace, Lane
from feedmill.model.page import HostFilter, Page


class ScheduleStore(Protocol):
    """Lanes: claim, renew, release; what is due and when."""

    async def claim(
        self,
        owner: str,
        *,
        now: datetime,
        lease_sec: float,
        max_lanes: int,
        max_feeds: int,
        only: Sequence[str] | None = None,  # these feeds and no others
    ) -> tuple[Claim, ...]: ...
    async def renew(
        self,
        lane: Lane,
        *,
        owner: str,
        until: datetime,
        feeds: Sequence[str] = (),  # still to be polled: their next run moves along (D25)
    ) -> bool: ...
    async def release(
        self,
        lane: Lane,
        pace: HostPace,
        *,
        now: datetime,
        deferred: Sequence[tuple[str, datetime]] = (),  # feeds not polled after all: (id, due at)
    ) -> None: ...
    async def next_due_at(self, only: Sequence[str] | None = None) -> datetime | None: ...
    async def due_lanes(self, now: datetime) -> int: ...  # that could be claimed
    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int: ...


class HostStore(Protocol):
    """The pace of a host, for requests that no lane makes."""

    async def host_pace(self, url: str) -> HostPace | None: ...  # as last stored
    async def host_lanes(
        self, where: HostFilter, *, now: datetime, after: str | None = None, limit: int = 100
    ) -> Page[HostLane]: ...  # by name; a lane of a big host each
    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None: ...
