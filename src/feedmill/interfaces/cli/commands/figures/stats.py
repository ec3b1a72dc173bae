"""`feedmill stats`: count feeds, entries, fetches and events."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts
from feedmill.interfaces.cli.command import Answer, command


@command()
async def stats(services: Services) -> Answer:
    """Count feeds, entries, fetches and events."""
    found = (await counts(services)).counts
    return Answer(found, "\n".join(f"{key:<28}{value:>12,}" for key, value in found.items()))
