"""`feedmill run`: all in one. Polls, taps, webhooks, the bus and housekeeping in one process."""

import asyncio
import shutil
import signal
import sys
from typing import Any

import click

from feedmill.app.services import announce_egress, bus_of, owner_name, stdout_tap, taps_of
from feedmill.engine.deliver.to_sinks import keep_delivering
from feedmill.engine.deliver.to_webhooks import keep_webhooks
from feedmill.engine.maintain.retention import keep_tidy
from feedmill.engine.poll.scheduler import run_forever
from feedmill.engine.run.lifecycle import Listener, Watch
from feedmill.engine.run.refresh_report import GOOD, Report
from feedmill.engine.run.services import World
from feedmill.interfaces.cli.commands.relay import relaying
from feedmill.interfaces.cli.exit import interrupted
from feedmill.interfaces.cli.long_running import on_duty, opened, stop_after
from feedmill.interfaces.cli.output import json_option, paint, shorten, show_json_line, span
from feedmill.interfaces.cli.run_command import config_of, run_story
from feedmill.interfaces.cli.signals import Stopping, stop_on_signals
from feedmill.model.feed import Feed
from feedmill.model.refresh import Committed, Refresh
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.publish.to_json import refresh_wire

_BESIDE = 65  # columns of a line beside the name: time, outcome, news, wait, reason


@click.command()
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65_535),
    metavar="PORT",
    help="Serve /metrics on loopback.",
)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print events as NDJSON.")
@click.option("--taps/--no-taps", default=True, show_default=True, help="Write NDJSON files.")
@click.option("--webhooks/--no-webhooks", default=True, show_default=True, help="Tell webhooks.")
@click.option(
    "--for",
    "duration",
    type=click.FloatRange(min=0),
    metavar="SEC",
    help="Stop after this long.",
)
@click.option("--quiet", is_flag=True, help="Do not print each refresh.")
@json_option
@click.pass_context
def run(ctx: click.Context, /, *, as_json: bool, **chosen: Any) -> None:  # noqa: ANN401
    """Poll for ever, all in one process. SIGTERM and Ctrl-C drain and leave; twice, at once.

    Several of these may share one home folder or one PostgreSQL; a host is worked by one of them
    at a time. With --json each refresh is printed as one line of JSON.

    \b
    Examples:
      feedmill run
      feedmill run --quiet --metrics-port 9464
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill run    # migrates by itself
    """
    if chosen["to_stdout"] and as_json:
        message = "--stdout prints events and --json prints refreshes; choose one"
        raise click.UsageError(message)
    config = config_of(ctx, as_json=as_json)
    announce_egress(config)
    show: tuple[Listener, ...] = (show_line,) if as_json else (show_refresh,)

    async def tell() -> Stopping:
        async with opened(config, "apply") as world:
            return await run_engine(
                world,
                duration=chosen["duration"],
                metrics_port=chosen["metrics_port"],
                to_stdout=chosen["to_stdout"],
                taps=chosen["taps"],
                webhooks=chosen["webhooks"],
                show=() if chosen["quiet"] or chosen["to_stdout"] else show,
            )

    stopping = run_story(tell, as_json=as_json)
    if stopping.by == signal.SIGINT:
        interrupted("interrupted; everything under way was finished", as_json=as_json)


async def run_engine(
    world: World,
    *,
    duration: float | None,
    metrics_port: int | None,
    to_stdout: bool,
    taps: bool,
    show: tuple[Listener, ...],
    webhooks: bool = False,
) -> Stopping:
    """Work until a signal or the time is up, with everything beside it; who asked for the end."""
    metrics = Metrics()
    report = Report(logger("engine"), metrics, shown=bool(show))
    watch = Watch(owner_name(), (report.refreshed, *show), (report.surprised,), (report.troubled,))
    watch.losses += (report.lost,)
    stopping = stop_on_signals(watch)
    sinks = [*(taps_of(world) if taps else ()), *([stdout_tap(world.config)] if to_stdout else [])]
    bus = None if world.config.bus.url is None else bus_of(world.config)
    duty = on_duty(
        world,
        watch,
        "run",
        metrics,
        parts=("polls",),
        consumers=() if bus is None else (bus.name,),
        metrics_port=metrics_port,
    )
    async with duty, asyncio.TaskGroup() as group:
        if bus is not None:
            group.create_task(relaying(world, bus, watch, report))
        for sink in sinks:
            group.create_task(keep_delivering(world, sink, watch, every_sec=1.0))
        group.create_task(keep_tidy(world, watch))
        if webhooks:
            group.create_task(keep_webhooks(world, watch, listeners=(report.delivered,)))
        if duration is not None:
            group.create_task(stop_after(watch, duration))
        try:
            await run_forever(world, watch)
        finally:
            watch.stop()
    return stopping


def show_refresh(before: Feed, result: Refresh, _: Committed) -> None:
    """One line a person can follow for each refresh."""
    fetch = result.fetch
    good = fetch.outcome in GOOD
    news = f"+{fetch.entries_new}" if fetch.entries_new else ""
    if fetch.entries_updated:
        news += f" ~{fetch.entries_updated}"
    wait = result.feed.next_poll_at - fetch.fetched_at
    mended = f" mended: {', '.join(fetch.repairs)}" if fetch.repairs else ""
    room = _room()
    name = shorten(result.feed.title or _end_of(before.url, room), room)
    click.echo(
        f"{fetch.fetched_at:%H:%M:%S} {paint(f'{fetch.outcome:<16}', fg='green' if good else 'red')}"
        f"{news:<8}{name:<{room + 2}}next in {span(wait):<9}{result.feed.reason}{mended}"
    )


def _end_of(url: str, room: int) -> str:
    """An address, or its end: addresses that begin alike end differently."""
    return url if len(url) <= room else f"…{url[1 - room :]}"


def _room() -> int:
    """How long a name may be for a line to fit on the terminal; 44 where there is none."""
    if not sys.stdout.isatty():
        return 44
    return min(44, max(14, shutil.get_terminal_size().columns - _BESIDE))


def show_line(_: Feed, result: Refresh, __: Committed) -> None:
    """The same as one line of JSON."""
    show_json_line(refresh_wire(result.feed, result.fetch))
