"""`feedmill purge`: delete what retention no longer keeps."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.maintain.publishers_clock import check_clock
from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag


@command()
@flag("--anyway", "Purge although the clock is far ahead of the publishers'.")
async def purge(services: Services, *, anyway: bool) -> Answer:
    """Delete what retention no longer keeps; entries still in a feed's document stay.

    Nothing is purged while the clock is more than a day ahead of the publishers that were polled in the last day.
    """
    if not anyway:
        await check_clock(services.store, services.clock.now())
    done = await purge_old(services)
    words = ", ".join(f"{value:,} {key}" for key, value in done.items())
    return Answer(done, words or "nothing to do")
