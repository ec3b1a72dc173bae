"""`feedmill reindex`: make the search index anew."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

import click

from feedmill.engine.maintain.search_index import reindex as reindex_all
from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import check_searchable
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import progress, show_result
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@json_option
def reindex() -> None:
    """Index every entry for search anew, beside running processes.

    `feedmill run` does so by itself for entries that were stored before search existed, or while it was off.
    """

    async def action(services: Services) -> int:
        check_searchable(services)
        total = (await services.store.counts())["entries"]
        with progress(total, "indexing") as step:
            return await reindex_all(services.store, step)

    done = with_services(action)
    show_result({"entries": done}, f"{done:,} entries are searchable")
