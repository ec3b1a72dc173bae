"""`feedmill resume`: poll paused feeds again."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.commands.feeds.pause import set_paused


@command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
async def resume(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Poll paused feeds again, starting now."""
    return await set_paused(feeds, services, paused=False)
