"""`feedmill purge`: delete what retention no longer keeps."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command


@command()
async def purge(services: Services) -> Answer:
    """Delete what retention no longer keeps; entries still in a feed's document stay."""
    done = await purge_old(services)
    words = ", ".join(f"{value:,} {key}" for key, value in done.items())
    return Answer(done, words or "nothing to do")
