"""`feedmill worker`: polling and maintenance, any number of processes on one store."""

import asyncio
import signal

import click

from feedmill.app.services import announce_egress
from feedmill.app.settings import owner_name
from feedmill.engine.maintain.retention import run_maintenance
from feedmill.engine.run.lifecycle import Lifecycle, RefreshListener
from feedmill.engine.run.refresh_report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.commands.run import show_refresh_json
from feedmill.interfaces.cli.exit import exit_interrupted
from feedmill.interfaces.cli.long_running import (
    open_services_when_ready,
    poll_until_stopped,
    role_services,
)
from feedmill.interfaces.cli.options import duration_option, json_option
from feedmill.interfaces.cli.run_command import SignalHandler, config_of, run_async, stop_on_signals
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics


@click.command()
@duration_option
@json_option
@click.pass_context
def worker(ctx: click.Context, duration: float | None, *, as_json: bool) -> None:
    """Poll continuously beside other workers, on one PostgreSQL or one home folder.

    It waits for `feedmill migrate`, delivers nothing, and runs maintenance when no other worker does.
    SIGTERM releases every host at once and finishes running fetches; a second one exits at once.
    With --json each refresh is printed as one line of JSON.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill worker
      FEEDMILL_HEALTH_PORT=8643 feedmill worker    # /livez, /readyz and /metrics there
    """
    config = config_of(ctx, as_json=as_json)
    announce_egress(config)
    show: tuple[RefreshListener, ...] = (show_refresh_json,) if as_json else ()

    async def action() -> SignalHandler:
        async with open_services_when_ready(config, "await") as services:
            return await _work(services, duration, show)

    stopping = run_async(action, as_json=as_json)
    if stopping.by == signal.SIGINT:
        exit_interrupted("interrupted; running work was finished", as_json=as_json)


async def _work(
    services: Services, duration: float | None, show: tuple[RefreshListener, ...]
) -> SignalHandler:
    report = RefreshReport(logger("engine"), Metrics(), shown=bool(show))
    watch = Lifecycle(
        owner_name(), (report.refreshed, *show), (report.crashed,), (report.store_failed,)
    )
    watch.lease_lost_listeners += (report.lease_lost,)
    stopping = stop_on_signals(watch)
    role_tasks = role_services(services, watch, "worker", report.metrics, parts=("polls",))
    if not show:
        click.echo(
            f"polling as {watch.owner}; `feedmill workers` lists all workers, -v logs each refresh"
        )
    async with role_tasks, asyncio.TaskGroup() as group:
        group.create_task(run_maintenance(services, watch))
        await poll_until_stopped(group, services, watch, duration)
    return stopping
