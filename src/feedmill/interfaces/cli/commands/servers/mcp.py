"""`feedmill mcp`: serve MCP tools for agents on standard streams or over HTTP."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import os
import signal

import click

from feedmill.app.services import announce_settings, open_services
from feedmill.app.settings import owner_name
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.exit import SIGNALS, exit_interrupted, is_json
from feedmill.interfaces.cli.long_running import wait_until_stopped
from feedmill.interfaces.cli.options import bad_value, option
from feedmill.interfaces.cli.output import show_json_line
from feedmill.interfaces.cli.run_command import (
    STOP_LIMIT,
    bounded_stop,
    config_of,
    run_async,
    stop_on_signals,
)
from feedmill.interfaces.cli.servers import load_mcp

_MOST_PORT = 65_535
_LEAVING_SEC = 1.0  # for calls under way, once they are cancelled
_INTERRUPTED = 130


def parse_listen_address(text: str) -> tuple[str, int]:
    """Host and port to listen on; a port alone means loopback."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _MOST_PORT:
        bad_value(f"{text!r} has no port; use a format like 127.0.0.1:8643")
    return host or "127.0.0.1", int(port)


@command("mcp")
@option(
    "--http HOST:PORT",
    "place",
    "Serve streamable HTTP on this address instead of standard input and output.",
    type=parse_listen_address,
)
def mcp(place: tuple[str, int] | None) -> None:
    """Serve MCP tools: agents collect, screen and read, and insert what a person confirmed.

    Without --http it speaks the Model Context Protocol on standard input and output, and ends
    when the program that started it closes them. An address reachable from other machines needs a
    token first: `feedmill token create`.

    \b
    Examples:
      feedmill mcp
      feedmill mcp --http 127.0.0.1:8643
    """
    config = config_of()
    announce_settings(config)

    async def action() -> signal.Signals | None:
        load_mcp()  # what is missing is said before the store is opened
        async with open_services(config) as services:
            if place is None:
                by = await _over_stdio(services)
            else:
                by = await _over_http(services, place)
        if place is None and by is not None:
            # Everything is closed. What is left is a thread that waits for standard input, which
            # nothing can wake, and which Python would wait for.
            os._exit(_INTERRUPTED if by == signal.SIGINT else 0)
        return by

    with bounded_stop(config.run):
        stopped_by = run_async(action)
    if stopped_by == signal.SIGINT:
        exit_interrupted("interrupted; running work was finished")


async def _over_stdio(services: Services) -> signal.Signals | None:
    """Serve until the stream ends or a signal arrives; the signal is returned."""
    speaking = asyncio.ensure_future(load_mcp().serve_stdio(services))
    loop, told = asyncio.get_running_loop(), list[signal.Signals]()

    limit = STOP_LIMIT.get()

    def stop(number: signal.Signals) -> None:
        told.append(number)
        if limit is not None:
            limit.begin(Lifecycle(owner_name()))
        stopped.set()

    stopped = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    waiting = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({speaking, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if told:
        speaking.cancel()
        await asyncio.wait({speaking}, timeout=_LEAVING_SEC)
        return told[0]
    speaking.result()
    return None


async def _over_http(services: Services, place: tuple[str, int]) -> signal.Signals | None:
    watch = Lifecycle(owner_name())
    stopping = stop_on_signals(watch)
    async with load_mcp().mcp_http_server(services, *place) as address:
        if is_json():
            show_json_line({"mcp": address})
        else:
            click.echo(f"serving MCP at {address}")
        await wait_until_stopped(watch)
    return stopping.by
