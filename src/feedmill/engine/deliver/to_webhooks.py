"""Webhook delivery: one task and one cursor per webhook, at least once, in order.

A batch is sent until it is accepted or given up, then the cursor moves behind it; a crash in
between sends it again. A slow webhook delays no other. With several processes on one store, a
lease says which of them delivers to a webhook.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.deliver.read_log import ENTRIES_AT_ONCE, with_entries
from feedmill.engine.deliver.webhook_request import (
    DeliveryAttempt,
    batch_of,
    send_batch,
    settlement_of,
)
from feedmill.engine.run.lifecycle import Backoff, Lifecycle
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError, NotSentError
from feedmill.model.event import Event
from feedmill.model.running.webhook import Delivery, Settlement, Webhook
from feedmill.publish.webhook_delivery import Batch, is_wanted, next_batch

DeliveryListener = Callable[[Delivery], None]

_READ_EVENTS: Final = 500
_GRACE_SEC: Final = 1.0  # for a delivery under way when the run should end
_SECOND: Final = timedelta(seconds=1)


async def run_webhooks(
    services: Services, lifecycle: Lifecycle, *, listeners: tuple[DeliveryListener, ...] = ()
) -> None:
    """Deliver to every webhook until the run ends; new, changed and removed ones are noticed."""
    async with asyncio.TaskGroup() as group:
        supervisor = _WebhookSupervisor(services, lifecycle, listeners, group)
        backoff = Backoff("webhooks", lifecycle)
        try:
            while not lifecycle.is_stopping():
                with suppress(TimeoutError):
                    await lifecycle.unless_stopping(supervisor.look(backoff), _GRACE_SEC)
                await backoff.wait()
                await lifecycle.sleep_unless_stopping(services.config.webhook.look_sec)
        finally:
            await supervisor.end()


async def deliver_once(
    services: Services, lifecycle: Lifecycle, *, listeners: tuple[DeliveryListener, ...] = ()
) -> None:
    """Deliver what is pending to every webhook, concurrently; the first failure of each ends its turn."""
    active = [webhook for webhook in await services.store.webhooks() if webhook.state == "active"]
    if not active:
        return
    leases = _WebhookLeases(services, lifecycle)
    await leases.renew()
    try:
        async with asyncio.TaskGroup() as group:
            for webhook in active:
                worker = _WebhookWorker(webhook.id, services, lifecycle, listeners, leases)
                group.create_task(worker.run_once())
    finally:
        with suppress(FeedmillError):
            await services.store.release_webhooks(lifecycle.owner)


class _WebhookLeases:
    """The webhooks that this process holds, and until when."""

    def __init__(self, services: Services, lifecycle: Lifecycle) -> None:
        self._services, self._owner = services, lifecycle.owner
        self._lease_sec = services.config.webhook.lease_sec
        self.held: frozenset[str] = frozenset()
        self._deadline = 0.0  # by the monotonic clock: then another process may deliver

    def are_due(self) -> bool:
        """True once a third of the lease is over."""
        return self._services.clock.monotonic() >= self._deadline - self._lease_sec * 2 / 3

    def send_before(self, webhook_id: str) -> float:
        """By when a delivery has to leave, on the monotonic clock."""
        return self._deadline if webhook_id in self.held else 0.0

    async def renew(self) -> None:
        """Hold for a whole lease from now on what no other process holds."""
        began, now = self._services.clock.monotonic(), self._services.clock.now()
        self.held = await self._services.store.lease_webhooks(
            self._owner, now=now, until=now + self._lease_sec * _SECOND
        )
        self._deadline = began + self._lease_sec


class _WebhookSupervisor:
    """The webhooks that this process delivers to at the moment."""

    def __init__(
        self,
        services: Services,
        lifecycle: Lifecycle,
        listeners: tuple[DeliveryListener, ...],
        group: asyncio.TaskGroup,
    ) -> None:
        self._services, self._lifecycle, self._listeners, self._group = (
            services,
            lifecycle,
            listeners,
            group,
        )
        self._workers: dict[str, tuple[_WebhookWorker, asyncio.Task[None]]] = {}
        self._active: frozenset[str] = frozenset()
        self._leases = _WebhookLeases(services, lifecycle)

    async def look(self, backoff: Backoff) -> None:
        """Notice added and removed webhooks, and wake the workers that have events to deliver."""
        try:
            webhooks = [w for w in await self._services.store.webhooks() if w.state == "active"]
            last_seq = await self._services.store.last_seq() if webhooks else 0
            await self._hold(frozenset(webhook.id for webhook in webhooks))
        except FeedmillError as problem:
            backoff.failed(problem)
            return
        backoff.succeeded()
        self._lifecycle.on_poll_loop("webhooks")
        self._cancel_released()
        for webhook in webhooks:
            if webhook.id in self._leases.held and webhook.cursor < last_seq:
                self._worker_of(webhook.id).pending.set()

    async def end(self) -> None:
        """Release the leases, so that another process need not wait for their end."""
        if self._leases.held:
            with suppress(FeedmillError, TimeoutError):
                async with asyncio.timeout(_GRACE_SEC):
                    await self._services.store.release_webhooks(self._lifecycle.owner)

    async def _hold(self, active: frozenset[str]) -> None:
        """Lease what is new, and everything again in good time."""
        if active == self._active and not (active and self._leases.are_due()):
            return
        await self._leases.renew()
        self._active = active

    def _worker_of(self, webhook_id: str) -> "_WebhookWorker":
        if webhook_id not in self._workers:
            worker = _WebhookWorker(
                webhook_id, self._services, self._lifecycle, self._listeners, self._leases
            )
            task = self._group.create_task(worker.run(), name=f"webhook {webhook_id}")
            self._workers[webhook_id] = (worker, task)
        return self._workers[webhook_id][0]

    def _cancel_released(self) -> None:
        for webhook_id in self._workers.keys() - (self._leases.held & self._active):
            _, task = self._workers.pop(webhook_id)
            task.cancel()


class _WebhookWorker:
    """The task of one webhook."""

    def __init__(
        self,
        webhook_id: str,
        services: Services,
        lifecycle: Lifecycle,
        listeners: tuple[DeliveryListener, ...],
        leases: _WebhookLeases,
    ) -> None:
        self.webhook_id, self._leases = webhook_id, leases
        self.pending = asyncio.Event()
        self._services, self._lifecycle, self._listeners = services, lifecycle, listeners
        self._backoff = Backoff(f"webhook {webhook_id}", lifecycle)

    async def run(self) -> None:
        """Deliver until the run ends; after a store error it is retried with backoff."""
        while not self._lifecycle.is_stopping():
            wait_sec: float | None = 0.0
            with suppress(TimeoutError):
                wait_sec = await self._lifecycle.unless_stopping(self._retried_step(), _GRACE_SEC)
            await self._backoff.wait()
            if wait_sec is None:
                await self._until_pending()
            elif wait_sec > 0:
                # Not longer than this at a time: it may be resumed or removed meanwhile.
                await self._lifecycle.sleep_unless_stopping(
                    min(wait_sec, self._services.config.webhook.look_sec)
                )

    async def run_once(self) -> None:
        """Deliver what there is, until nothing is left or something fails."""
        while not self._lifecycle.is_stopping():
            if self._leases.are_due():
                await self._leases.renew()
            if self.webhook_id not in self._leases.held or await self._step() != 0.0:
                break

    async def _until_pending(self) -> None:
        self.pending.clear()
        pending = asyncio.ensure_future(self.pending.wait())
        try:
            await self._lifecycle.wait_for(pending)
        finally:
            pending.cancel()

    async def _retried_step(self) -> float | None:
        try:
            wait_sec = await self._step()
        except FeedmillError as problem:
            self._backoff.failed(problem)
            return 0.0
        self._backoff.succeeded()
        return wait_sec

    async def _step(self) -> float | None:
        """Settle one batch; the wait until the next try, None when there is nothing to deliver."""
        webhook = await self._services.store.webhook(self.webhook_id)
        if webhook is None or webhook.state != "active":
            return None
        if webhook.expires_at is not None and webhook.expires_at <= self._services.clock.now():
            await self._services.store.remove_webhook(webhook.id)  # its lease was not renewed
            return None
        if webhook.next_attempt_at is not None:
            wait_sec = (webhook.next_attempt_at - self._services.clock.now()) / _SECOND
            if wait_sec > 0:
                return wait_sec
        read = await self._services.store.events(after=webhook.cursor, limit=_READ_EVENTS)
        if not read:
            return None
        wanted = await self._wanted(webhook, read)
        if not wanted:
            await self._skip(webhook, read[-1].seq)
            return 0.0
        batch = await self._batch(webhook, read, wanted)
        if batch is None:
            await self._skip(webhook, read[-1].seq)
            return 0.0
        try:
            before = self._leases.send_before(webhook.id)
            sent = await send_batch(webhook, batch, self._services, send_before=before)
        except NotSentError:  # this process was stopped: it delivers again under its next lease
            return self._services.config.webhook.look_sec
        return await self._settle(webhook, batch, sent)

    async def _batch(
        self, webhook: Webhook, read: tuple[Event, ...], wanted: list[Event]
    ) -> Batch | None:
        """The next events; for a subscriber of our hub its topic, once for all that happened."""
        if webhook.format == "websub":
            batch = await batch_of(webhook, wanted, self._services)
            return None if batch is None else replace(batch, upto=read[-1].seq)
        config, max_events = self._services.config, self._services.config.webhook.batch_events
        if webhook.payload == "full":
            max_events = min(max_events, ENTRIES_AT_ONCE)
            head = await with_entries(
                wanted[:max_events], self._services.store, config.webhook.batch_bytes
            )
            wanted = [*head, *wanted[max_events:]]
        return next_batch(
            read,
            wanted,
            webhook.format,
            source=config.store.event_source,
            max_events=max_events,
            max_bytes=config.webhook.batch_bytes,
        )

    async def _wanted(self, webhook: Webhook, read: tuple[Event, ...]) -> list[Event]:
        tags: dict[str, tuple[str, ...]] = {}
        if webhook.tag is not None:
            tags = await self._services.store.feed_tags(sorted({event.feed_id for event in read}))
        backfill = self._services.config.backfill.webhooks
        return [event for event in read if is_wanted(webhook, event, tags, backfill=backfill)]

    async def _skip(self, webhook: Webhook, upto: int) -> None:
        now = self._services.clock.now()
        skipped = Settlement(webhook_id=webhook.id, after=webhook.cursor, upto=upto, at=now)
        await self._services.store.settle_webhook(skipped)

    async def _settle(self, webhook: Webhook, batch: Batch, sent: DeliveryAttempt) -> float:
        settlement, wait_sec = settlement_of(webhook, batch, sent, self._services)
        await self._services.store.settle_webhook(settlement)
        delivery = replace(
            sent.delivery,
            attempts=webhook.attempts + 1,
            wait_sec=wait_sec,
            buried=settlement.letter is not None,
        )
        for listener in self._listeners:
            listener(delivery)
        return wait_sec
