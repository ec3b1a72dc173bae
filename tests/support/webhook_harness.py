"""A mill with webhooks for the stories: real store, real fetcher, short pauses, long limits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.loopback_fetcher import TableResolver
from tests.support.waiting import HANG_GUARD_SEC, wait_for_answer

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.app.services import open_services
from feedmill.config import Config, FetchConfig, StoreConfig, WebhookConfig
from feedmill.engine.deliver.to_webhooks import DeliveryListener, run_webhooks
from feedmill.engine.ports.io import Clock
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.model.event import NewEvent
from feedmill.model.feed import NewFeed
from feedmill.model.running.webhook import Delivery, Webhook
from feedmill.model.schedule import ScheduleState

HASTY = WebhookConfig(
    backoff_base_sec=0.02, backoff_cap_sec=0.05, look_sec=0.02, lease_sec=300.0, timeout_ms=300_000
)
PLAIN = Config(
    fetch=FetchConfig(allow_cidrs=("127.0.0.0/8",), retry_wait_ms=1, connection_attempts=1),
    webhook=HASTY,
)


@asynccontextmanager
async def opened(
    home: Path,
    *,
    names: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
    allow_cidrs: tuple[str, ...] = ("127.0.0.0/8",),
    clock: Clock | None = None,
    **webhook: Any,
) -> AsyncIterator[Services]:
    """A world on that folder; with `names` they are what the resolver says."""
    config = replace(
        PLAIN,
        store=StoreConfig(home=str(home)),
        fetch=replace(PLAIN.fetch, allow_cidrs=allow_cidrs),
        webhook=replace(HASTY, **webhook),
    )
    async with open_services(config, clock=clock) as services:
        if names is None:
            yield services
            return
        resolver = TableResolver(names)
        fetcher = CurlFetcher(config.fetch, SystemClock(), resolver=resolver)
        try:
            yield services._replace(fetcher=fetcher)
        finally:
            await fetcher.close()


async def happen(
    services: Services, events: int, *, tags: tuple[str, ...] = (), kind: str = ""
) -> str:
    """Let a new feed have so many events; its id."""
    now = services.clock.now()
    feed_id = services.clock.new_id()
    new = NewFeed(
        id=feed_id,
        url=f"https://paper.example/{feed_id}",
        created_at=now,
        next_poll_at=now + timedelta(days=1),  # nobody polls it
        schedule=ScheduleState(interval_sec=900.0),
        tags=tags,
    )
    told = NewEvent(type=kind or "feed.state", feed_id=feed_id, occurred_at=now)  # type: ignore[arg-type]
    await services.store.add_feed(new, [told] * events)
    return feed_id


class Telling:
    """Webhooks being told in the background, and what was said about it."""

    def __init__(self) -> None:
        self.watch = Lifecycle("the test", store_error_listeners=(self._word,))
        self.deliveries: list[Delivery] = []
        self.words: list[str] = []

    def listen(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)

    def _word(self, op: str, problem: object, _: float) -> None:
        self.words.append(f"{op}: {problem or 'over'}")


@asynccontextmanager
async def telling(services: Services, *listeners: DeliveryListener) -> AsyncIterator[Telling]:
    """Tell every webhook while the story goes on."""
    told = Telling()
    work = run_webhooks(services, told.watch, listeners=(told.listen, *listeners))
    task = asyncio.create_task(work)
    try:
        yield told
    finally:
        told.watch.stop()
        await asyncio.wait_for(task, HANG_GUARD_SEC)


async def until_webhook(
    services: Services, webhook_id: str, is_so: Callable[[Webhook], bool]
) -> Webhook:
    """Wait until a webhook is as wanted."""

    async def ask() -> Webhook:
        found = await services.store.webhook(webhook_id)
        assert found is not None
        return found

    return await wait_for_answer(ask, is_so, f"webhook {webhook_id}")
