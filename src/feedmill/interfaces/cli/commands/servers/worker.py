"""`feedmill worker`: polling and maintenance, any number of processes on one store."""
# Tested in tests/integration/interfaces/cli/

import asyncio

import click

from feedmill.app.services import announce_settings
from feedmill.engine.run.lifecycle import RefreshListener
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli import long_running
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.commands.servers.run import show_refresh_json
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import duration_option
from feedmill.interfaces.cli.run_command import SignalHandler, config_of
from feedmill.interfaces.cli.servers import start_upkeep


@command()
@duration_option
def worker(duration: float | None) -> None:
    """Poll continuously beside other workers, on one PostgreSQL or one home folder.

    It waits for `feedmill migrate`, delivers nothing, and runs maintenance when no other worker does.
    SIGTERM releases every host at once and finishes running fetches; a second one exits at once.
    With --json each refresh is printed as one line of JSON.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill worker
      FEEDMILL_HEALTH_PORT=8643 feedmill worker    # /livez, /readyz, /metrics
    """
    config = config_of()
    announce_settings(config)
    show: tuple[RefreshListener, ...] = (show_refresh_json,) if is_json() else ()
    long_running.run_role(config, "await", lambda services: _work(services, duration, show))


async def _work(
    services: Services, duration: float | None, show: tuple[RefreshListener, ...]
) -> SignalHandler:
    watch, report, stopping = long_running.watch_role(show)
    role_tasks = long_running.role_services(
        services, watch, "worker", report.metrics, parts=("polls",)
    )
    if not show:
        click.echo(
            f"polling as {watch.owner}; `feedmill workers` lists all workers, -v logs each refresh"
        )
    async with role_tasks, asyncio.TaskGroup() as group:
        start_upkeep(group, services, watch, report, webhooks=False)
        await long_running.poll_until_stopped(group, services, watch, duration)
    return stopping
