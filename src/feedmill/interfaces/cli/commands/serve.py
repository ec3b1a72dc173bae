"""`feedmill serve` and `feedmill api`: the doors for other programs, with or without a mill behind."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import click

from feedmill.app.services import announce_egress, file_sinks, owner_name
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
from feedmill.interfaces.cli.output import json_option, show_json_line
from feedmill.interfaces.cli.run_command import config_of, run_async
from feedmill.interfaces.cli.signals import SignalHandler, stop_on_signals
from feedmill.model.worker import WorkerRole
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics

_PORT = click.IntRange(0, 65_535)


class ListenOptions(NamedTuple):
    """Where the doors shall be; what is not said is as the settings say."""

    host: str | None
    port: int | None
    grpc_port: int | None


def _door_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where the doors are."""
    for option in (
        click.option(
            "--grpc", "grpc_port", type=_PORT, metavar="PORT", help="Answer gRPC there as well."
        ),
        click.option(
            "--port",
            type=_PORT,
            metavar="PORT",
            help="And on this port [FEEDMILL_SERVE_PORT, 8642].",
        ),
        click.option(
            "--host", metavar="ADDRESS", help="Listen here [FEEDMILL_SERVE_HOST, 127.0.0.1]."
        ),
    ):
        command = option(command)
    return command


@click.command()
@_door_options
@click.option("--with-mill", is_flag=True, help="Poll, deliver and tidy up in the same process.")
@json_option
@click.pass_context
def serve(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    grpc_port: int | None,
    *,
    with_mill: bool,
    as_json: bool,
) -> None:
    """Answer other programs over HTTP until SIGTERM or Ctrl-C; what is under way is finished.

    Without any token only this machine is answered. An address that others reach wants a token
    first: `feedmill token create`.

    \b
    Examples:
      feedmill serve --with-mill
      curl http://127.0.0.1:8642/entries?limit=10
    """
    config = config_of(ctx, as_json=as_json)
    _serve(config, ListenOptions(host, port, grpc_port), with_mill=with_mill, as_json=as_json)


@click.command()
@_door_options
@json_option
@click.pass_context
def api(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    grpc_port: int | None,
    *,
    as_json: bool,
) -> None:
    """Answer other programs beside workers and relays: `serve` that never polls.

    It waits for `feedmill migrate`. As many as you like answer from one store; webhooks and the
    bus are told by `feedmill relay`.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill api --host 0.0.0.0 --grpc 50051
    """
    config = config_of(ctx, as_json=as_json)
    _serve(config, ListenOptions(host, port, grpc_port), with_mill=False, as_json=as_json)


def _serve(config: Config, wanted: ListenOptions, *, with_mill: bool, as_json: bool) -> None:
    if with_mill:
        announce_egress(config)

    async def tell() -> SignalHandler:
        async with open_services_when_ready(config, "apply" if with_mill else "await") as services:
            report = RefreshReport(logger("engine"), Metrics())
            watch = Lifecycle(
                owner_name(), (report.refreshed,), (report.crashed,), (report.store_failed,)
            )
            watch.lease_lost_listeners += (report.lease_lost,)
            stopping = stop_on_signals(watch)
            async with AsyncExitStack() as doors:
                places = await _open(doors, services, watch, report.metrics, wanted)
                _say(places, as_json=as_json)
                await _work(services, watch, report, with_mill=with_mill)
            return stopping

    stopping = run_async(tell, as_json=as_json)
    if stopping.by == signal.SIGINT:
        exit_interrupted("interrupted; everything under way was finished", as_json=as_json)


async def _open(
    doors: AsyncExitStack,
    services: Services,
    watch: Lifecycle,
    metrics: Metrics,
    wanted: ListenOptions,
) -> dict[str, str]:
    """Open the doors that are wanted; where each of them is."""
    from feedmill.interfaces.http_server import rest_server  # noqa: PLC0415  # only who serves loads it

    host, port, grpc_port = wanted
    places: dict[str, str] = {}
    if grpc_port is not None:
        from feedmill.interfaces.grpc.opening import load_grpc_server  # noqa: PLC0415  # an extra

        bound = host or services.config.serve.host
        name, number = await doors.enter_async_context(
            load_grpc_server()(services, bound, grpc_port)
        )
        places["grpc"] = f"{name}:{number}"
    rest = rest_server(services, watch, host=host, port=port, metrics=metrics)
    places["rest"] = await doors.enter_async_context(rest)
    return places


async def _work(
    services: Services, watch: Lifecycle, report: RefreshReport, *, with_mill: bool
) -> None:
    """Whatever goes on behind the doors until somebody asks for the end."""
    role: WorkerRole = "run" if with_mill else "api"
    parts = ("polls",) if with_mill else ()
    duty = role_services(services, watch, role, report.metrics, parts=parts)
    async with duty, asyncio.TaskGroup() as group:
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


def _say(places: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        show_json_line(places)
        return
    click.echo(f"serving at {places['rest']} (see {places['rest']}/docs)")
    if "grpc" in places:
        click.echo(f"and gRPC at {places['grpc']}")
