"""`feedmill reindex`: make the search index anew."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

from feedmill.engine.maintain.check_store import reindex as reindex_all
from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import check_searchable
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import progress


@command()
async def reindex(services: Services) -> Answer:
    """Index every entry for search anew, beside running processes.

    `feedmill run` does so by itself for entries that were stored before search existed, or while it was off.
    """
    check_searchable(services)
    total = (await services.store.counts())["entries"]
    with progress(total, "indexing") as step:
        done = await reindex_all(services.store, step)
    return Answer({"entries": done}, f"{done:,} entries are searchable")
