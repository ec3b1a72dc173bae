"""`feedmill resume`: poll paused feeds again."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.commands.feeds.pause import set_paused
from feedmill.interfaces.cli.options import feeds_argument


@command()
@feeds_argument
async def resume(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Poll paused feeds again, starting now."""
    return await set_paused(feeds, services, paused=False)
