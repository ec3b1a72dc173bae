"""A mill whose log grows when a story wants it to, and relays that can be watched or killed."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path

from msgspec.structs import replace
from tests.support.waiting import HANG_GUARD_SEC, wait_for_answer
from tests.support.warm_process import Process, start_script

from feedmill.app.services import make_bus, open_services
from feedmill.config import BusConfig, Config, StoreConfig
from feedmill.engine.deliver.to_sinks import run_relay
from feedmill.engine.ports.entries import Bus
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.model.event import NewEvent, Relayed
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

CHILD = Path(__file__).parent / "children" / "relay.py"
FEEDS = tuple(f"feed-{number}" for number in range(7))


@asynccontextmanager
async def opened(home: Path, config: Config) -> AsyncIterator[Services]:
    """A world on that folder with the settings of a bus."""
    hasty = replace(config.bus, look_sec=0.02)
    async with open_services(
        replace(config, bus=hasty, store=StoreConfig(home=str(home)))
    ) as services:
        yield services


async def happen(services: Services, events: int) -> None:
    """Let so many events happen, by turns to several feeds; all in one transaction."""
    now, feed_id = services.clock.now(), services.clock.new_id()
    new = NewFeed(
        id=feed_id,
        url=f"https://paper.example/{feed_id}",
        created_at=now,
        next_poll_at=now + timedelta(days=1),
        schedule=ScheduleState(interval_sec=900.0),
    )
    told = [
        NewEvent(type="feed.state", feed_id=feed, occurred_at=now, data={"after": "active"})
        for feed in islice(cycle(FEEDS), events)
    ]
    await services.store.add_feed(new, told)


class Relaying:
    """A relay in the background, and what was said about it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.watch = Lifecycle("the test", store_error_listeners=(self._word,))
        self.troubles: list[str] = []
        self.recoveries = 0
        self.told: list[Relayed] = []

    def _word(self, _: str, problem: BaseException | None, __: float) -> None:
        if problem is None:
            self.recoveries += 1
        else:
            self.troubles.append(str(getattr(problem, "reason", problem)))

    async def caught_up(self, bus_name: str) -> None:
        """Wait until the cursor is at the end of the log."""
        store = self.services.store
        last = await store.last_seq()
        await wait_for_answer(lambda: store.cursor(bus_name), last.__eq__, f"event {last}")


@asynccontextmanager
async def relaying(services: Services, bus: Bus | None = None) -> AsyncIterator[Relaying]:
    """Relay while the story goes on."""
    story = Relaying(services)
    work = run_relay(
        services.store,
        bus or make_bus(services.config),
        services.config.bus,
        story.watch,
        drain_sec=services.config.run.drain_sec,
        listeners=(story.told.append,),
    )
    task = asyncio.create_task(work)
    try:
        yield story
    finally:
        story.watch.stop()
        await asyncio.wait_for(task, HANG_GUARD_SEC)


async def start_child(home: Path, bus: BusConfig, failpoint: str | None = None) -> Process:
    """A relay in a process of its own; with a failpoint it dies there."""
    own = {
        "FEEDMILL_HOME": str(home),
        "FEEDMILL_BUS_URL": bus.url or "",
        "FEEDMILL_BUS_STREAM": bus.stream,
        "FEEDMILL_BUS_WINDOW": str(bus.window),
        "FEEDMILL_BUS_LOOK_SEC": "0.01",
    }
    if failpoint is not None:
        own["FEEDMILL_FAILPOINT"] = failpoint
    return await start_script(CHILD, env=os.environ | own, stdout=asyncio.subprocess.PIPE)
