"""`feedmill resume`: poll paused feeds again."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.interfaces.cli.commands.feeds.pause import set_paused
from feedmill.interfaces.cli.options import json_option


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@json_option
def resume(feeds: tuple[str, ...]) -> None:
    """Poll paused feeds again, starting now."""
    set_paused(feeds, paused=False)
