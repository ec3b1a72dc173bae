"""Ports: the event log with its cursors, and the sinks that events are delivered to."""

from collections.abc import Sequence
from typing import Protocol

from feedmill.model.base import Value
from feedmill.model.event import Event


class EventLog(Protocol):
    """The event log with its gapless sequence, and the cursors of its consumers."""

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]: ...
    async def last_seq(self) -> int: ...
    async def cursor(self, consumer: str) -> int: ...
    async def set_cursor(self, consumer: str, seq: int) -> None: ...


class Sink(Protocol):
    """Where events go: at least once, in order, resumable by their number."""

    name: str

    async def deliver(self, events: Sequence[Event]) -> None: ...
    async def close(self) -> None: ...


class NewestEvent(Value):
    """The newest event that a bus holds."""

    seq: int  # 0: it has never held any
    id: str | None = None  # None: it was let go meanwhile


class Bus(Sink, Protocol):
    """A sink that other programs read; it may know what it holds."""

    async def newest(self) -> NewestEvent | None: ...  # None: it cannot tell
