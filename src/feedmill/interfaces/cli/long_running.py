"""What every long-running role has beside its work: a sign of life, a page, a word to systemd."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Final

import msgspec

from feedmill.app.services import (
    Schema,
    open_services,
    readiness_checks_for,
    systemd_notifier,
    warn_if_raw_not_shared,
)
from feedmill.config import Config
from feedmill.engine.run.gauges import run_counters, run_gauges
from feedmill.engine.run.heartbeat import heartbeat
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.liveness import Liveness
from feedmill.engine.run.readiness import check_readiness
from feedmill.engine.run.services import Services
from feedmill.engine.run.systemd_status import run_systemd_status
from feedmill.interfaces.cli.signals import SIGNALS
from feedmill.model.readiness import Readiness
from feedmill.model.worker import WorkerRole
from feedmill.observe.health_page import (
    PageResponse,
    Route,
    alive_route,
    metrics_route,
    serve_health_page,
)
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics

CheckReadiness = Callable[[], Awaitable[Readiness]]

_JSON: Final = "application/json"
_STALL_SEC: Final = 60.0
_REMIND_SEC: Final = 2.0


@asynccontextmanager
async def open_services_when_ready(config: Config, schema: Schema) -> AsyncIterator[Services]:
    """The world of a role, waited for when its store is not there yet; a signal ends the waiting."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    waits = int(config.store.migrate_wait_sec * 1_000_000)
    systemd_notifier().notify("STATUS=opening the store", f"EXTEND_TIMEOUT_USEC={waits}")
    reminder = loop.call_later(_REMIND_SEC, _say_that_it_waits, config.store.migrate_wait_sec)
    try:
        async with open_services(config, schema=schema) as services:
            reminder.cancel()
            yield services
    finally:
        reminder.cancel()


@asynccontextmanager
async def role_services(
    services: Services,
    watch: Lifecycle,
    role: WorkerRole,
    metrics: Metrics,
    *,
    parts: Sequence[str] = (),
    consumers: Sequence[str] = (),
    metrics_port: int | None = None,
) -> AsyncIterator[None]:
    """Be there for whoever runs this role while the block works; `parts` have to look for work.

    `consumers` are cursors whose lag is shown; `metrics_port` is one more port, on loopback.
    """
    pulse = Liveness(
        services.clock, parts, stall_sec=max(_STALL_SEC, services.config.run.lease_sec)
    )
    watch.poll_loop_listeners += (pulse.record,)
    watch.listeners += (pulse.record_refresh,)
    watch.store_error_listeners += (pulse.record_failure,)
    probes = readiness_checks_for(services, role)

    async def ask() -> Readiness:
        return await check_readiness(services.store, services.clock, watch, pulse, role, probes)

    health, routes = services.config.health, _routes(metrics, pulse, ask)
    places = [(health.host, health.port)] if health.port else []
    places += [("127.0.0.1", metrics_port)] if metrics_port is not None else []
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        for host, port in places:
            await stack.enter_async_context(serve_health_page(routes, host, port))
        await stack.enter_async_context(heartbeat(services.store, services.clock, watch, role))
        beside = [group.create_task(warn_if_raw_not_shared(services, watch))]
        if places:
            beside.append(group.create_task(run_counters(services.store, metrics, watch)))
            gauging = run_gauges(
                services.store, services.clock, metrics, watch, consumers=consumers
            )
            beside.append(group.create_task(gauging))
        beside.append(group.create_task(_tell(ask, services, watch, pulse)))
        try:
            yield
        finally:
            watch.stop()
            for task in beside:  # a store that is away, or long to count, holds up no end
                task.cancel()


async def stop_after(watch: Lifecycle, seconds: float) -> None:
    """End the run after a while."""
    await watch.sleep_unless_stopping(seconds)
    watch.stop()


def _say_that_it_waits(longest_sec: float) -> None:
    logger("store").warning(
        "waiting for the store: it is away, or `feedmill migrate` has not run", wait_sec=longest_sec
    )


async def _tell(ask: CheckReadiness, services: Services, watch: Lifecycle, pulse: Liveness) -> None:
    line = systemd_notifier()
    if line.is_heard:
        await run_systemd_status(line.notify, line.watchdog_sec, ask, services.clock, watch, pulse)


def _routes(metrics: Metrics, pulse: Liveness, ask: CheckReadiness) -> dict[str, Route]:
    async def livez() -> PageResponse:
        if pulse.is_alive():
            return await alive_route()
        return PageResponse(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"stalled\n")

    async def readyz() -> PageResponse:
        found = await ask()
        status = HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return PageResponse(status, _JSON, msgspec.json.encode(found))

    return {
        "/livez": livez,
        "/readyz": readyz,
        "/metrics": metrics_route(metrics),
        "/healthz": alive_route,
    }
