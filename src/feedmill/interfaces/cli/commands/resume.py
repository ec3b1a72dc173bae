"""`feedmill resume`: poll paused feeds again."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.interfaces.cli.commands.pause import set_paused
from feedmill.interfaces.cli.options import context_and_json


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@context_and_json
def resume(ctx: click.Context, feeds: tuple[str, ...], *, as_json: bool) -> None:
    """Poll paused feeds again, starting now."""
    set_paused(ctx, feeds, paused=False, as_json=as_json)
