"""What `feedmill serve` and `feedmill api` share: start the servers and the background tasks."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import click

from feedmill.app.services import announce_egress, file_sinks
from feedmill.app.settings import owner_name
from feedmill.config import Config
from feedmill.engine.deliver.to_sinks import run_delivery
from feedmill.engine.deliver.to_webhooks import run_webhooks
from feedmill.engine.maintain.retention import run_maintenance
from feedmill.engine.poll.scheduler import run_forever
from feedmill.engine.run.gauges import run_counters
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.refresh_report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.exit import exit_interrupted
from feedmill.interfaces.cli.long_running import open_services_when_ready, role_services
from feedmill.interfaces.cli.output import show_json_line
from feedmill.interfaces.cli.run_command import SignalHandler, run_async, stop_on_signals
from feedmill.interfaces.cli.servers import load_grpc_server, load_rest_server
from feedmill.model.worker import WorkerRole
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics

_PORT = click.IntRange(0, 65_535)


class ListenOptions(NamedTuple):
    """Addresses to listen on; None: as the settings say."""

    host: str | None
    port: int | None
    grpc_port: int | None


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --host, --port and --grpc."""
    for option in (
        click.option(
            "--grpc", "grpc_port", type=_PORT, metavar="PORT", help="Also serve gRPC on this port."
        ),
        click.option(
            "--port",
            type=_PORT,
            metavar="PORT",
            help="Port to listen on [FEEDMILL_SERVE_PORT, 8642].",
        ),
        click.option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on [FEEDMILL_SERVE_HOST, 127.0.0.1].",
        ),
    ):
        command = option(command)
    return command


def serve_until_stopped(
    config: Config, wanted: ListenOptions, *, with_mill: bool, as_json: bool
) -> None:
    """Serve REST, and gRPC when asked for, until SIGTERM or Ctrl-C; with_mill polls as well."""
    if with_mill:
        announce_egress(config)

    async def body() -> SignalHandler:
        async with open_services_when_ready(config, "apply" if with_mill else "await") as services:
            report = RefreshReport(logger("engine"), Metrics())
            watch = Lifecycle(
                owner_name(), (report.refreshed,), (report.crashed,), (report.store_failed,)
            )
            watch.lease_lost_listeners += (report.lease_lost,)
            stopping = stop_on_signals(watch)
            async with AsyncExitStack() as stack:
                addresses = await _open(stack, services, watch, report.metrics, wanted)
                _print_addresses(addresses, as_json=as_json)
                await _work(services, watch, report, with_mill=with_mill)
            return stopping

    stopping = run_async(body, as_json=as_json)
    if stopping.by == signal.SIGINT:
        exit_interrupted("interrupted; running work was finished", as_json=as_json)


async def _open(
    stack: AsyncExitStack,
    services: Services,
    watch: Lifecycle,
    metrics: Metrics,
    wanted: ListenOptions,
) -> dict[str, str]:
    """Start the servers that are wanted; their addresses."""
    host, port, grpc_port = wanted
    addresses: dict[str, str] = {}
    if grpc_port is not None:
        bound = host or services.config.serve.host
        name, number = await stack.enter_async_context(
            load_grpc_server()(services, bound, grpc_port)
        )
        addresses["grpc"] = f"{name}:{number}"
    rest = load_rest_server()(services, watch, host=host, port=port, metrics=metrics)
    addresses["rest"] = await stack.enter_async_context(rest)
    return addresses


async def _work(
    services: Services, watch: Lifecycle, report: RefreshReport, *, with_mill: bool
) -> None:
    """Run the background tasks until the lifecycle is stopped."""
    role: WorkerRole = "run" if with_mill else "api"
    parts = ("polls",) if with_mill else ()
    role_tasks = role_services(services, watch, role, report.metrics, parts=parts)
    async with role_tasks, asyncio.TaskGroup() as group:
        counting = group.create_task(run_counters(services.store, report.metrics, watch))
        if with_mill:
            for sink in file_sinks(services):
                group.create_task(
                    run_delivery(
                        services.store,
                        sink,
                        watch,
                        every_sec=1.0,
                        drain_sec=services.config.run.drain_sec,
                    )
                )
            group.create_task(run_maintenance(services, watch))
            group.create_task(run_webhooks(services, watch, listeners=(report.delivered,)))
            group.create_task(run_forever(services, watch))
        try:
            while not watch.is_stopping():
                await watch.sleep_unless_stopping(3600)
        finally:
            watch.stop()
            counting.cancel()


def _print_addresses(addresses: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        show_json_line(addresses)
        return
    click.echo(f"serving at {addresses['rest']} (see {addresses['rest']}/docs)")
    if "grpc" in addresses:
        click.echo(f"gRPC at {addresses['grpc']}")
