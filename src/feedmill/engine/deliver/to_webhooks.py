"""How webhooks are told: one task and one cursor each, so that a slow one holds nobody up.

A batch is sent until it is taken or given up, then the cursor moves behind it; whoever dies in
between sends it again. So every event is told at least once, and in order: of each feed, and of
all. With several processes on one store, a lease says which of them tells a webhook.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.deliver.webhook_request import DeliveryAttempt, send_batch, settlement_of
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.retry import Backoff
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.event import Event
from feedmill.model.webhook import Delivery, Settlement, Webhook
from feedmill.publish.webhook_delivery import Batch, is_wanted, next_batch

DeliveryListener = Callable[[Delivery], None]

_READ_EVENTS: Final = 500
_GRACE_SEC: Final = 1.0  # for a delivery under way when the run should end
_SECOND: Final = timedelta(seconds=1)


async def run_webhooks(
    services: Services, watch: Lifecycle, *, listeners: tuple[DeliveryListener, ...] = ()
) -> None:
    """Tell every webhook until the run ends; new, changed and removed ones are noticed."""
    async with asyncio.TaskGroup() as group:
        rounds = _WebhookSupervisor(services, watch, listeners, group)
        trouble = Backoff("webhooks", watch)
        try:
            while not watch.is_stopping():
                with suppress(TimeoutError):
                    await watch.unless_stopping(rounds.look(trouble), _GRACE_SEC)
                await trouble.wait()
                await watch.sleep_unless_stopping(services.config.webhook.look_sec)
        finally:
            await rounds.end()


async def deliver_once(
    services: Services, watch: Lifecycle, *, listeners: tuple[DeliveryListener, ...] = ()
) -> None:
    """Tell every webhook what waits for it, side by side; the first failure of each ends its turn."""
    tellers = [
        _WebhookWorker(webhook.id, services, watch, listeners)
        for webhook in await services.store.webhooks()
        if webhook.state == "active"
    ]
    if not tellers:
        return
    now = services.clock.now()
    until = now + services.config.webhook.lease_sec * _SECOND
    held = await services.store.hold_webhooks(watch.owner, now=now, until=until)
    try:
        async with asyncio.TaskGroup() as group:
            for teller in tellers:
                if teller.webhook_id in held:
                    group.create_task(teller.run_once())
    finally:
        with suppress(FeedmillError):
            await services.store.release_webhooks(watch.owner)


class _WebhookSupervisor:
    """Who is told by this process at the moment."""

    def __init__(
        self,
        services: Services,
        watch: Lifecycle,
        listeners: tuple[DeliveryListener, ...],
        group: asyncio.TaskGroup,
    ) -> None:
        self._world, self._watch, self._listeners, self._group = services, watch, listeners, group
        self._tellers: dict[str, tuple[_WebhookWorker, asyncio.Task[None]]] = {}
        self._active: frozenset[str] = frozenset()
        self._held: frozenset[str] = frozenset()
        self._renew_at = 0.0  # by the monotonic clock

    async def look(self, trouble: Backoff) -> None:
        """Notice who came and went, and wake those for whom there is news."""
        try:
            webhooks = [w for w in await self._world.store.webhooks() if w.state == "active"]
            last_seq = await self._world.store.last_seq() if webhooks else 0
            await self._hold(frozenset(webhook.id for webhook in webhooks))
        except FeedmillError as problem:
            trouble.failed(problem)
            return
        trouble.succeeded()
        self._watch.on_poll_loop("webhooks")
        self._dismiss()
        for webhook in webhooks:
            if webhook.id in self._held and webhook.cursor < last_seq:
                self._teller_of(webhook.id).news.set()

    async def end(self) -> None:
        """Give the leases back, so that another process need not wait for their end."""
        if self._held:
            with suppress(FeedmillError, TimeoutError):
                async with asyncio.timeout(_GRACE_SEC):
                    await self._world.store.release_webhooks(self._watch.owner)

    async def _hold(self, active: frozenset[str]) -> None:
        """Lease what is new, and everything again in good time."""
        clock, lease_sec = self._world.clock, self._world.config.webhook.lease_sec
        if active == self._active and (not active or clock.monotonic() < self._renew_at):
            return
        now = clock.now()
        held = await self._world.store.hold_webhooks(
            self._watch.owner, now=now, until=now + lease_sec * _SECOND
        )
        self._active, self._held = active, held & active
        self._renew_at = clock.monotonic() + lease_sec / 3

    def _teller_of(self, webhook_id: str) -> "_WebhookWorker":
        if webhook_id not in self._tellers:
            teller = _WebhookWorker(webhook_id, self._world, self._watch, self._listeners)
            task = self._group.create_task(teller.run(), name=f"webhook {webhook_id}")
            self._tellers[webhook_id] = (teller, task)
        return self._tellers[webhook_id][0]

    def _dismiss(self) -> None:
        for webhook_id in self._tellers.keys() - self._held:
            _, task = self._tellers.pop(webhook_id)
            task.cancel()


class _WebhookWorker:
    """The task of one webhook."""

    def __init__(
        self,
        webhook_id: str,
        services: Services,
        watch: Lifecycle,
        listeners: tuple[DeliveryListener, ...],
    ) -> None:
        self.webhook_id = webhook_id
        self.news = asyncio.Event()
        self._world, self._watch, self._listeners = services, watch, listeners
        self._trouble = Backoff(f"webhook {webhook_id}", watch)

    async def run(self) -> None:
        """Tell until the run ends; a store that fails is waited for."""
        while not self._watch.is_stopping():
            wait_sec: float | None = 0.0
            with suppress(TimeoutError):
                wait_sec = await self._watch.unless_stopping(self._patient_step(), _GRACE_SEC)
            await self._trouble.wait()
            if wait_sec is None:
                await self._until_news()
            elif wait_sec > 0:
                # Not longer than this at a time: somebody may resume or remove it meanwhile.
                await self._watch.sleep_unless_stopping(
                    min(wait_sec, self._world.config.webhook.look_sec)
                )

    async def run_once(self) -> None:
        """Tell what there is, until nothing is left or something fails."""
        while not self._watch.is_stopping() and await self._step() == 0.0:
            pass

    async def _until_news(self) -> None:
        self.news.clear()
        news = asyncio.ensure_future(self.news.wait())
        try:
            await self._watch.wait_for(news)
        finally:
            news.cancel()

    async def _patient_step(self) -> float | None:
        try:
            wait_sec = await self._step()
        except FeedmillError as problem:
            self._trouble.failed(problem)
            return 0.0
        self._trouble.succeeded()
        return wait_sec

    async def _step(self) -> float | None:
        """Settle one batch; the wait until the next try, None when there is nothing to tell."""
        webhook = await self._world.store.webhook(self.webhook_id)
        if webhook is None or webhook.state != "active":
            return None
        if webhook.next_attempt_at is not None:
            wait_sec = (webhook.next_attempt_at - self._world.clock.now()) / _SECOND
            if wait_sec > 0:
                return wait_sec
        read = await self._world.store.events(after=webhook.cursor, limit=_READ_EVENTS)
        if not read:
            return None
        wanted = await self._wanted(webhook, read)
        if not wanted:
            await self._pass_over(webhook, read[-1].seq)
            return 0.0
        config = self._world.config
        batch = next_batch(
            read,
            wanted,
            webhook.format,
            source=config.store.event_source,
            max_events=config.webhook.batch_events,
            max_bytes=config.webhook.batch_bytes,
        )
        return await self._settle(webhook, batch, await send_batch(webhook, batch, self._world))

    async def _wanted(self, webhook: Webhook, read: tuple[Event, ...]) -> list[Event]:
        tags: dict[str, tuple[str, ...]] = {}
        if webhook.tag is not None:
            tags = await self._world.store.feed_tags(sorted({event.feed_id for event in read}))
        return [event for event in read if is_wanted(webhook, event, tags)]

    async def _pass_over(self, webhook: Webhook, upto: int) -> None:
        now = self._world.clock.now()
        passed = Settlement(webhook_id=webhook.id, after=webhook.cursor, upto=upto, at=now)
        await self._world.store.settle_webhook(passed)

    async def _settle(self, webhook: Webhook, batch: Batch, sent: DeliveryAttempt) -> float:
        settlement, wait_sec = settlement_of(webhook, batch, sent, self._world)
        await self._world.store.settle_webhook(settlement)
        told = replace(
            sent.delivery,
            attempts=webhook.attempts + 1,
            wait_sec=wait_sec,
            buried=settlement.letter is not None,
        )
        for listener in self._listeners:
            listener(told)
        return wait_sec
