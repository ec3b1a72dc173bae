"""Ports: the event log with its cursors, sinks and buses that events go to, webhook endpoints."""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.base import Value
from feedmill.model.event import Cursor, Event
from feedmill.model.page import Page
from feedmill.model.running.webhook import DeadLetter, Settlement, Webhook


class EventLog(Protocol):
    """The event log with its gapless sequence, and the cursors of its consumers."""

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]: ...
    async def last_seq(self) -> int: ...
    async def append_rewound(self, delivered: "NewestEvent", now: datetime) -> bool: ...
    async def cursor(self, consumer: str) -> int: ...
    async def set_cursor(self, consumer: str, seq: int) -> None: ...
    async def cursors(self) -> tuple[Cursor, ...]: ...
    async def drop_cursor(self, consumer: str) -> bool: ...


class Sink(Protocol):
    """Where events go: at least once, in order, resumable by their number."""

    name: str

    async def deliver(self, events: Sequence[Event]) -> None: ...
    async def close(self) -> None: ...


class NewestEvent(Value):
    """The newest event that a bus or a file holds, or that a reader was told."""

    seq: int  # 0: it has never held any
    id: str | None = None  # None: it was purged meanwhile, or is unknown


class Bus(Sink, Protocol):
    """A sink that other programs read; it may know what it holds."""

    async def newest(self) -> NewestEvent | None: ...  # None: it cannot tell


class WebhookStore(Protocol):
    """Webhook endpoints, their cursors, leases and dead letters."""

    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None: ...
    async def webhook(self, webhook_id: str) -> Webhook | None: ...
    async def webhooks(self) -> tuple[Webhook, ...]: ...
    async def change_webhook(self, webhook: Webhook) -> bool: ...
    async def remove_webhook(self, webhook_id: str) -> bool: ...
    async def rewind_webhook(self, webhook_id: str, after: int) -> bool: ...
    async def lease_webhooks(
        self, owner: str, *, now: datetime, until: datetime
    ) -> frozenset[str]: ...  # active ones that no other process holds
    async def release_webhooks(self, owner: str) -> None: ...
    async def settle_webhook(self, settlement: Settlement) -> bool: ...  # False: overtaken
    async def dead_letters(
        self, webhook_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[DeadLetter]: ...
    async def delete_dead_letters(self, letter_ids: Sequence[str]) -> int: ...
