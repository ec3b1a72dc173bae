"""What every long-running role has beside its work: a sign of life, a page, a word to systemd."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Final

import msgspec

from feedmill.app.services import Schema, notifier, open_world, probes_of, warn_if_apart
from feedmill.config import Config
from feedmill.engine.run.heartbeat import present
from feedmill.engine.run.lifecycle import Watch
from feedmill.engine.run.liveness import Pulse
from feedmill.engine.run.queue_gauges import keep_gauging
from feedmill.engine.run.readiness import readiness
from feedmill.engine.run.refresh_report import keep_counting
from feedmill.engine.run.services import World
from feedmill.engine.run.systemd_status import keep_informed
from feedmill.interfaces.cli.signals import SIGNALS
from feedmill.model.readiness import Readiness
from feedmill.model.worker import Role
from feedmill.observe.health_page import Route, Shown, alive, numbers, open_page
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics

Ask = Callable[[], Awaitable[Readiness]]

_JSON: Final = "application/json"
_STALL_SEC: Final = 60.0
_REMIND_SEC: Final = 2.0


@asynccontextmanager
async def opened(config: Config, schema: Schema) -> AsyncIterator[World]:
    """The world of a role, waited for when its store is not there yet; a signal ends the waiting."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    waits = int(config.store.migrate_wait_sec * 1_000_000)
    notifier().say("STATUS=opening the store", f"EXTEND_TIMEOUT_USEC={waits}")
    reminder = loop.call_later(_REMIND_SEC, _say_that_it_waits, config.store.migrate_wait_sec)
    try:
        async with open_world(config, schema=schema) as world:
            reminder.cancel()
            yield world
    finally:
        reminder.cancel()


@asynccontextmanager
async def on_duty(
    world: World,
    watch: Watch,
    role: Role,
    metrics: Metrics,
    *,
    parts: Sequence[str] = (),
    consumers: Sequence[str] = (),
    metrics_port: int | None = None,
) -> AsyncIterator[None]:
    """Be there for whoever runs this role while the block works; `parts` have to look for work.

    `consumers` are cursors whose lag is shown; `metrics_port` is one more port, on loopback.
    """
    pulse = Pulse(world.clock, parts, stall_sec=max(_STALL_SEC, world.config.run.lease_sec))
    watch.looks += (pulse.looked,)
    watch.listeners += (pulse.refreshed,)
    watch.words += (pulse.troubled,)
    probes = probes_of(world, role)

    async def ask() -> Readiness:
        return await readiness(world, watch, pulse, role, probes)

    health, routes = world.config.health, _routes(metrics, pulse, ask)
    places = [(health.host, health.port)] if health.port else []
    places += [("127.0.0.1", metrics_port)] if metrics_port is not None else []
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        for host, port in places:
            await stack.enter_async_context(open_page(routes, host, port))
        await stack.enter_async_context(present(world, watch, role))
        beside = [group.create_task(warn_if_apart(world, watch))]
        if places:
            beside.append(group.create_task(keep_counting(world, metrics, watch)))
            gauging = keep_gauging(world, metrics, watch, consumers=consumers)
            beside.append(group.create_task(gauging))
        beside.append(group.create_task(_tell(ask, world, watch, pulse)))
        try:
            yield
        finally:
            watch.stop()
            for task in beside:  # a store that is away, or long to count, holds up no end
                task.cancel()


async def stop_after(watch: Watch, seconds: float) -> None:
    """End the run after a while."""
    await watch.pause(seconds)
    watch.stop()


def _say_that_it_waits(longest_sec: float) -> None:
    logger("store").warning(
        "waiting for the store: it is away, or `feedmill migrate` has not run", wait_sec=longest_sec
    )


async def _tell(ask: Ask, world: World, watch: Watch, pulse: Pulse) -> None:
    line = notifier()
    if line.is_heard:
        await keep_informed(line.say, line.watchdog_sec, ask, world, watch, pulse)


def _routes(metrics: Metrics, pulse: Pulse, ask: Ask) -> dict[str, Route]:
    async def livez() -> Shown:
        if pulse.is_alive():
            return await alive()
        return Shown(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"stalled\n")

    async def readyz() -> Shown:
        found = await ask()
        status = HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return Shown(status, _JSON, msgspec.json.encode(found))

    return {"/livez": livez, "/readyz": readyz, "/metrics": numbers(metrics), "/healthz": alive}
