"""Shapes of hosts for REST and programs."""
# Tested in tests/integration/engine/service/feeds/test_hosts.py

from datetime import datetime

from feedmill.model.base import Value
from feedmill.model.feed import HostState


class HostShape(Value):
    """A host: its state, since when, and what is held for it (D24)."""

    host: str
    state: HostState
    reason: str | None  # why it pauses or fails
    since: datetime | None  # when the trouble began
    until: datetime | None  # it is left alone until then
    failures: int  # in a row, all alike
    canary: str | None  # during an incident, the feed that tried it last
    feeds: int
    due: int  # of the feeds, how many should be polled now
    held: int  # of those, how many wait for the host
    limited_urls: int  # addresses with a Retry-After of their own
    gap_sec: float  # between two requests
    slow_down: float  # what the usual gap is multiplied by


class HostPage(Value):
    items: tuple[HostShape, ...]
    next: str | None = None
