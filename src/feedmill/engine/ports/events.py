"""Store protocol: the event log with its gapless sequence, and the cursors of its consumers."""

from typing import Protocol

from feedmill.model.event import Event


class EventLog(Protocol):
    """The event log with its gapless sequence, and the cursors of its consumers."""

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]: ...
    async def last_seq(self) -> int: ...
    async def cursor(self, consumer: str) -> int: ...
    async def set_cursor(self, consumer: str, seq: int) -> None: ...
