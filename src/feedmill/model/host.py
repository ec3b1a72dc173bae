"""Hosts as people look at them: pace, what holds them up, who waits."""
# Tested in tests/contracts/store/test_host_list.py

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

HostState = Literal["resting", "failing", "slowed"]


class HostFilter(Value):
    """Which hosts a list shows."""

    text: str | None = None  # part of the name
    host: str | None = None  # exactly this one, with all its lanes
    state: HostState | None = None


class HostView(Value):
    """A host, or one lane of a big one."""

    key: str  # host, host:port, or host#number
    feeds: int  # that are polled
    due: int  # of them, now
    gap_ms: int  # from the end of one fetch to the start of the next
    slow_down: float  # multiplies the gap
    rests_until: datetime | None = None
    reason: str | None = None  # why it rests, beyond the ordinary gap
    failures: int = 0  # fetches in a row that failed alike
    failing_with: str | None = None
    owner: str | None = None  # the process that polls it now
    lease_until: datetime | None = None

    @property
    def host(self) -> str:
        """The name without the number of a lane."""
        return self.key.partition("#")[0]

    def rests(self, now: datetime) -> bool:
        """Whether it is left alone for a reason."""
        return self.reason is not None and self.rests_until is not None and self.rests_until > now
