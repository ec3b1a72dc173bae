"""`feedmill run`: polling, sinks, webhooks, bus and maintenance in one process."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import shutil
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import click

from feedmill.app.services import announce_settings, file_sinks, make_bus, stdout_sink
from feedmill.engine.run.lifecycle import RefreshListener
from feedmill.engine.run.services import Services
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.interfaces.cli import long_running, output
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.commands.servers.relay import run_bus_relay
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import (
    duration_option,
    flag,
    option,
    usage_error,
    webhooks_option,
)
from feedmill.interfaces.cli.run_command import SignalHandler, config_of
from feedmill.interfaces.cli.servers import listen_for_hubs, rest_and_console, start_upkeep
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter
from feedmill.model.refresh import Committed, Refresh
from feedmill.publish.to_json import refresh_wire

_BESIDE = 65  # columns of a line beside the name: time, outcome, news, wait, reason


@command()
@option("--metrics-port PORT", "Serve /metrics on loopback.", least=1, most=65_535)
@flag("--console", "Also serve the console and the REST API.")
@option("--port PORT", "Port of the console [FEEDMILL_SERVE_PORT, 8642].", least=0, most=65_535)
@flag("--stdout", "to_stdout", "Print events as NDJSON.")
@option("--taps/--no-taps", "Write NDJSON files.", default=True)
@webhooks_option
@duration_option
@flag("--quiet", "Do not print each refresh.")
def run(**chosen: Any) -> None:  # noqa: ANN401
    """Poll continuously in one process, until SIGTERM or Ctrl-C; a second signal stops at once.

    Several processes may share one home folder or one PostgreSQL; each host is polled by one of them
    at a time. With --json each refresh is printed as one line of JSON.

    \b
    Examples:
      feedmill run
      feedmill run --console
      feedmill run --quiet --metrics-port 9464
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill run    # migrates
    """
    if chosen["to_stdout"] and is_json():
        usage_error("--stdout prints events and --json prints refreshes; choose one")
    if chosen["port"] is not None and not chosen["console"]:
        usage_error("--port is the port of the console; add --console")
    config = config_of()
    announce_settings(config)
    show: tuple[RefreshListener, ...] = (show_refresh_json,) if is_json() else (show_refresh,)
    if chosen.pop("quiet") or chosen["to_stdout"]:
        show = ()
    engine = partial(run_engine, show=show, **chosen)
    long_running.run_role(config, "apply", engine)


async def run_engine(
    services: Services,
    *,
    duration: float | None,
    metrics_port: int | None,
    to_stdout: bool,
    taps: bool,
    show: tuple[RefreshListener, ...],
    webhooks: bool = False,
    console: bool = False,
    port: int | None = None,
) -> SignalHandler:
    """Run until a signal or the end of `duration`; the handler tells which signal it was."""
    watch, report, stopping = long_running.watch_role(show)
    sinks = [
        *(await file_sinks(services) if taps else ()),
        *([stdout_sink(services.config)] if to_stdout else []),
    ]
    bus = None if services.config.bus.url is None else make_bus(services.config)
    role_tasks = long_running.role_services(
        services,
        watch,
        "run",
        report.metrics,
        parts=("polls",),
        consumers=() if bus is None else (bus.name,),
        metrics_port=metrics_port,
    )
    delivery = long_running.deliver_to_sinks(services, sinks, watch)
    async with AsyncExitStack() as stack, role_tasks, delivery, asyncio.TaskGroup() as group:
        if console:
            serving = rest_and_console(services, watch, report.metrics, port=port)
            address = await stack.enter_async_context(serving)
            # Not among the lines of JSON.
            click.echo(f"console at {address}/", err=True)
        await listen_for_hubs(stack, services)
        if bus is not None:
            group.create_task(run_bus_relay(services, bus, watch, report))
        start_upkeep(group, services, watch, report, webhooks=webhooks)
        if show and sys.stdout.isatty():
            click.echo(await _start_in_words(services), err=True)
        await long_running.poll_until_stopped(group, services, watch, duration)
    return stopping


async def _start_in_words(services: Services) -> str:
    """What a person at a terminal waits for: a feed that is polled once a day shows nothing for a day."""
    feeds = await services.store.count_feeds(FeedFilter())
    polled = feeds - await services.store.count_feeds(FeedFilter(state="paused"))
    if not polled:
        none = (
            "every feed is paused: feedmill resume FEED"
            if feeds
            else "no feeds yet: feedmill add URL"
        )
        return f"{none}, in another terminal; Ctrl-C stops"
    due, now = await services.store.next_due_at(), services.clock.now()
    later = f", the next in {output.format_duration(due - now)}" if due and due > now else ""
    return f"polling {polled:,} {'feed' if polled == 1 else 'feeds'}{later}; Ctrl-C stops"


def show_refresh(before: Feed, result: Refresh, _: Committed) -> None:
    """Print one line per refresh."""
    fetch = result.fetch
    good = fetch.outcome in SUCCESSFUL_OUTCOMES
    news = f"+{fetch.entries_new}" if fetch.entries_new else ""
    if fetch.entries_updated:
        news += f" ~{fetch.entries_updated}"
    wait = result.feed.next_poll_at - fetch.fetched_at
    mended = f" repaired: {', '.join(fetch.repairs)}" if fetch.repairs else ""
    room = _room()
    name = output.shorten(result.feed.title or _end_of(mask_address(before.url), room), room)
    click.echo(
        f"{fetch.fetched_at:%H:%M:%S} {output.style_text(f'{fetch.outcome:<16}', fg='green' if good else 'red')}"
        f"{news:<8}{output.pad_text(name, room + 2)}next in {output.format_duration(wait):<9}{result.feed.reason}{mended}"
    )


def _end_of(url: str, room: int) -> str:
    """An address, or its end when it is too long: similar addresses differ at the end."""
    return url if len(url) <= room else f"…{url[1 - room :]}"


def _room() -> int:
    """Width available for a name on the terminal; 44 without a terminal."""
    if not sys.stdout.isatty():
        return 44
    return min(44, max(14, shutil.get_terminal_size().columns - _BESIDE))


def show_refresh_json(_: Feed, result: Refresh, __: Committed) -> None:
    """Print one line of JSON per refresh."""
    output.show_json_line(refresh_wire(result.feed, result.fetch))
