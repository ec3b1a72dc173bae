"""Background tasks of every long-running role: heartbeat, health page, systemd status."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, NamedTuple

import click

from feedmill.app.doctor import readiness_checks_for, warn_if_raw_not_shared
from feedmill.app.services import Schema, open_services, systemd_notifier
from feedmill.app.settings import owner_name
from feedmill.config import Config
from feedmill.engine.deliver.to_sinks import run_delivery
from feedmill.engine.poll.scheduler import run_forever
from feedmill.engine.ports.entries import Sink
from feedmill.engine.run.lifecycle import FIRST_WAIT_SEC, Lifecycle, RefreshListener, is_transient
from feedmill.engine.run.readiness import Liveness, check_readiness, heartbeat, run_systemd_status
from feedmill.engine.run.report import RefreshReport, run_counters, run_gauges
from feedmill.engine.run.services import Services
from feedmill.errors import StoreError
from feedmill.interfaces.cli.exit import SIGNALS, early_signal, exit_interrupted
from feedmill.interfaces.cli.run_command import (
    STOP_LIMIT,
    SignalHandler,
    bounded_stop,
    describe_crashes,
    run_async,
    stop_on_signals,
)
from feedmill.model.running.worker import Readiness, WorkerRole
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics

CheckReadiness = Callable[[], Awaitable[Readiness]]

_STALL_SEC: Final = 60.0
_REMIND_SEC: Final = 2.0


class RoleWatch(NamedTuple):
    """The lifecycle of a role, what it reports, and the signals that stop it."""

    watch: Lifecycle
    report: RefreshReport
    stopping: SignalHandler


def run_role(
    config: Config, schema: Schema, action: Callable[[Services], Awaitable[SignalHandler]]
) -> None:
    """Run a role with its services until a signal; after Ctrl-C the exit code is 130.

    It is 1 when polls failed because of feedmill or its store, which are counted, and when the end takes longer than
    `StopLimit` allows.
    """

    async def run() -> SignalHandler:
        async with open_services_when_ready(config, schema) as services:
            return await action(services)

    stopped_by = None
    with bounded_stop(config.run) as limit:
        try:
            stopped_by = run_async(run).by
        finally:
            if limit.crashed_feeds:
                click.echo(f"feedmill: {describe_crashes(len(limit.crashed_feeds))}", err=True)
    if stopped_by == signal.SIGINT:
        exit_interrupted("interrupted; running work was finished")
    if limit.crashed_feeds:
        sys.exit(1)


def watch_role(show: tuple[RefreshListener, ...] = ()) -> RoleWatch:
    """Watch this task: refreshes are logged, counted and shown, signals stop it."""
    report = RefreshReport(logger("engine"), Metrics(), shown=bool(show))
    watch = Lifecycle(
        owner_name(), (report.refreshed, *show), (report.crashed,), (report.store_failed,)
    )
    watch.lease_lost_listeners += (report.lease_lost,)
    watch.job_crash_listeners += (report.job_crashed,)
    limit = STOP_LIMIT.get()
    if limit is not None:
        watch.crash_listeners += (limit.crashed,)
    return RoleWatch(watch, report, stop_on_signals(watch))


@asynccontextmanager
async def open_services_when_ready(config: Config, schema: Schema) -> AsyncIterator[Services]:
    """Open the services of a role, waiting for the store when necessary; a signal stops waiting."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    if early_signal() is not None:
        raise asyncio.CancelledError
    waits = int(config.store.migrate_wait_sec * 1_000_000)
    systemd_notifier().notify("STATUS=opening the store", f"EXTEND_TIMEOUT_USEC={waits}")
    reminder = loop.call_later(_REMIND_SEC, _log_waiting, config.store.migrate_wait_sec)
    try:
        async with AsyncExitStack() as stack:
            services = await _opened_services(stack, config, schema)
            reminder.cancel()
            yield services
    finally:
        reminder.cancel()


async def _opened_services(stack: AsyncExitStack, config: Config, schema: Schema) -> Services:
    """Open the services, again while a database goes away between its opening and the first questions."""
    loop = asyncio.get_running_loop()
    waits_until = loop.time() + config.store.migrate_wait_sec
    while True:
        try:
            return await stack.enter_async_context(open_services(config, schema=schema))
        except StoreError as problem:
            is_server = config.store.url is not None and is_transient(problem)
            if not is_server or loop.time() >= waits_until:
                raise
            await asyncio.sleep(FIRST_WAIT_SEC)


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
    """Run heartbeat, health page and gauges while the block runs.

    `parts` are the loops whose liveness is checked, `consumers` the cursors whose lag is shown;
    `metrics_port` is an additional port on loopback.
    """
    liveness = Liveness(
        services.clock, parts, stall_sec=max(_STALL_SEC, services.config.run.lease_sec)
    )
    watch.poll_loop_listeners += (liveness.record,)
    watch.listeners += (liveness.record_refresh,)
    watch.store_error_listeners += (liveness.record_failure,)
    probes = readiness_checks_for(services, role)

    async def ask() -> Readiness:
        return await check_readiness(services.store, services.clock, watch, liveness, role, probes)

    health = services.config.health
    addresses = [(health.host, health.port)] if health.port else []
    addresses += [("127.0.0.1", metrics_port)] if metrics_port is not None else []
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        if addresses:
            # uvicorn is loaded by roles with a health page only, and never for --help.
            from feedmill.interfaces.health_page import role_routes, serve_health_page  # noqa: PLC0415

            routes = role_routes(metrics, liveness, ask)
            for host, port in addresses:
                await stack.enter_async_context(serve_health_page(routes, host, port))
        await stack.enter_async_context(heartbeat(services.store, services.clock, watch, role))
        loops: list[Coroutine[Any, Any, None]] = [
            warn_if_raw_not_shared(services, watch),
            _notify_systemd(ask, services, watch, liveness),
        ]
        if addresses:
            store, clock = services.store, services.clock
            loops += [
                count_polls(services, watch, metrics),
                run_gauges(store, clock, metrics, watch, consumers=consumers),
            ]
        background = [group.create_task(one) for one in loops]
        try:
            yield
        finally:
            watch.stop()
            for task in background:  # an unreachable store must not delay the end
                task.cancel()


async def count_polls(services: Services, watch: Lifecycle, metrics: Metrics) -> None:
    """Keep the counters of the metrics up to date until the lifecycle stops."""
    most = services.config.observe.metrics_top_feeds
    await run_counters(services.store, services.clock, metrics, watch, top_feeds=most)


async def poll_until_stopped(
    group: asyncio.TaskGroup, services: Services, watch: Lifecycle, duration: float | None
) -> None:
    """Poll until a signal or the end of `duration`, then stop the lifecycle."""
    if duration is not None:
        group.create_task(stop_after(watch, duration))
    try:
        await run_forever(services, watch)
    finally:
        watch.stop()


@asynccontextmanager
async def deliver_to_sinks(
    services: Services, sinks: Iterable[Sink], watch: Lifecycle
) -> AsyncIterator[None]:
    """Write new events to each sink while the block runs, and at its end what it still wrote."""
    written, drain_sec = asyncio.Event(), services.config.run.drain_sec
    async with asyncio.TaskGroup() as group:
        for sink in sinks:
            group.create_task(
                run_delivery(
                    services.store,
                    sink,
                    watch,
                    every_sec=1.0,
                    drain_sec=drain_sec,
                    written=written,
                )
            )
        try:
            yield
        finally:
            watch.stop()
            written.set()


async def wait_until_stopped(watch: Lifecycle) -> None:
    """Wait for a signal, then stop the lifecycle."""
    try:
        while not watch.is_stopping():
            await watch.sleep_unless_stopping(3600)
    finally:
        watch.stop()


async def stop_after(watch: Lifecycle, seconds: float) -> None:
    """Stop the lifecycle after a number of seconds."""
    await watch.sleep_unless_stopping(seconds)
    watch.stop()


def _log_waiting(longest_sec: float) -> None:
    logger("store").warning(
        "waiting for the store: it is unreachable, or `feedmill migrate` has not run",
        wait_sec=longest_sec,
    )


async def _notify_systemd(
    ask: CheckReadiness, services: Services, watch: Lifecycle, liveness: Liveness
) -> None:
    line = systemd_notifier()
    if line.is_heard:
        await run_systemd_status(
            line.notify, line.watchdog_sec, ask, services.clock, watch, liveness
        )
