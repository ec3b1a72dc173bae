"""`feedmill relay`: deliver the event log to the bus and to webhooks."""
# Tested in tests/integration/interfaces/cli/

import asyncio
from contextlib import AsyncExitStack

import click

from feedmill.app.services import announce_settings, make_bus
from feedmill.config import Config
from feedmill.engine.deliver.to_sinks import relay_after, run_relay
from feedmill.engine.deliver.to_webhooks import run_webhooks
from feedmill.engine.ports.entries import Bus
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli import long_running
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import duration_option, option, usage_error, webhooks_option
from feedmill.interfaces.cli.output import format_count, show_json_line
from feedmill.interfaces.cli.run_command import SignalHandler, config_of
from feedmill.model.event import Relayed


@command()
@option(
    "--from SEQ", "after", "First publish every event after this sequence number again.", least=0
)
@webhooks_option
@duration_option
def relay(after: int | None, duration: float | None, *, webhooks: bool) -> None:
    """Deliver every event of the log to the bus and to webhooks, until SIGTERM or Ctrl-C.

    The log is kept, so a lost bus can be filled again from any sequence number. Several relays are
    safe: one of them delivers to a webhook, and the bus drops duplicates.

    \b
    Examples:
      FEEDMILL_BUS_URL=nats://bus:4222 feedmill relay
      feedmill relay --from 0          # publish everything in the log again
    """
    config = config_of()
    _check(config, after, webhooks=webhooks)
    if webhooks:
        announce_settings(config)

    async def action(services: Services) -> SignalHandler:
        async with AsyncExitStack() as stack:
            bus = None
            if config.bus.url is not None:
                bus = make_bus(config)
                stack.push_async_callback(bus.close)
                if after is not None:
                    _say_filled(bus, await relay_after(services.store, bus, after, config.bus))
            _say(bus, webhooks=webhooks)
            return await _relay(services, bus, duration, webhooks=webhooks)

    long_running.run_role(config, "await", action)


async def _relay(
    services: Services, bus: Bus | None, duration: float | None, *, webhooks: bool
) -> SignalHandler:
    watch, report, stopping = long_running.watch_role()
    parts = [*(["bus"] if bus else []), *(["webhooks"] if webhooks else [])]
    consumers = [bus.name] if bus else []
    role_tasks = long_running.role_services(
        services, watch, "relay", report.metrics, parts=parts, consumers=consumers
    )
    async with role_tasks, asyncio.TaskGroup() as group:
        if bus is not None:
            group.create_task(run_bus_relay(services, bus, watch, report))
        if webhooks:
            group.create_task(run_webhooks(services, watch, listeners=(report.delivered,)))
        if duration is not None:
            group.create_task(long_running.stop_after(watch, duration))
        await long_running.wait_until_stopped(watch)
    return stopping


async def run_bus_relay(
    services: Services, bus: Bus, watch: Lifecycle, report: RefreshReport
) -> None:
    """Relay to the bus until the lifecycle stops; records liveness and reports lost events."""

    def relayed(told: Relayed) -> None:
        watch.on_poll_loop("bus")
        report.relayed(told)

    config = services.config
    await run_relay(
        services.store, bus, config.bus, watch, drain_sec=config.run.drain_sec, listeners=(relayed,)
    )


def _check(config: Config, after: int | None, *, webhooks: bool) -> None:
    if config.bus.url is not None:
        return
    if after is not None or not webhooks:
        usage_error("no bus is configured; set FEEDMILL_BUS_URL, such as nats://127.0.0.1:4222")


def _say_filled(bus: Bus, events: int) -> None:
    if is_json():
        show_json_line({"filled": bus.name, "events": events})
    else:
        click.echo(f"{format_count(events, 'event')} published to {bus.name} again")


def _say(bus: Bus | None, *, webhooks: bool) -> None:
    told = [*([bus.name] if bus else []), *(["webhooks"] if webhooks else [])]
    if is_json():
        show_json_line({"relaying_to": told})
    else:
        rest = "" if bus else "; no bus is configured (FEEDMILL_BUS_URL)"
        click.echo(f"relaying to {' and '.join(told)}{rest}")
