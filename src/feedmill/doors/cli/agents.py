"""`feedmill mcp`: the door for agents, over the standard streams or over HTTP."""

import asyncio
import signal

import click

from feedmill.app import announce_egress, open_world, owner_name
from feedmill.doors.cli.leaving import interrupted
from feedmill.doors.cli.output import json_option, show_json_line
from feedmill.doors.cli.session import config_of, run_story
from feedmill.doors.cli.stopping import SIGNALS, Stopping, stop_on_signals
from feedmill.doors.mcp.opening import mcp_door
from feedmill.engine.watch import Watch
from feedmill.engine.world import World

_MOST_PORT = 65_535


def place_of(text: str) -> tuple[str, int]:
    """Where to listen: an address and a port, or a port alone on loopback."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _MOST_PORT:
        message = f"{text!r} has no port; write 127.0.0.1:8643"
        raise click.BadParameter(message)
    return host or "127.0.0.1", int(port)


@click.command("mcp")
@click.option(
    "--http",
    "place",
    type=place_of,
    metavar="HOST:PORT",
    help="Answer over streamable HTTP there, instead of over standard input and output.",
)
@json_option
@click.pass_context
def mcp(ctx: click.Context, place: tuple[str, int] | None, *, as_json: bool) -> None:
    """Let agents collect, screen and look, and insert what a person has confirmed.

    Without --http it speaks the Model Context Protocol on standard input and output, and ends
    when the program that started it closes them. An address that others reach wants a token
    first: `feedmill token create`.

    \b
    Examples:
      feedmill mcp
      feedmill mcp --http 127.0.0.1:8643
    """
    config = config_of(ctx, as_json=as_json)
    announce_egress(config)

    async def tell() -> Stopping | None:
        mcp_door()  # what is missing is said before the store is opened
        async with open_world(config) as world:
            if place is None:
                await _over_stdio(world)
                return None
            return await _over_http(world, place, as_json=as_json)

    stopping = run_story(tell, as_json=as_json)
    if stopping is not None and stopping.by == signal.SIGINT:
        interrupted(as_json=as_json)


async def _over_stdio(world: World) -> None:
    """Serve until the stream ends; a signal ends it as well."""
    speaking = asyncio.ensure_future(mcp_door().speak_over_stdio(world))
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, speaking.cancel)
    await asyncio.wait({speaking})
    if not speaking.cancelled():
        speaking.result()


async def _over_http(world: World, place: tuple[str, int], *, as_json: bool) -> Stopping:
    watch = Watch(owner_name())
    stopping = stop_on_signals(watch)
    async with mcp_door().http_server(world, *place) as address:
        if as_json:
            show_json_line({"mcp": address})
        else:
            click.echo(f"agents are answered at {address}")
        while not watch.is_stopping():
            await watch.pause(3600)
    return stopping
