"""`feedmill entry`: show one entry."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_facts, show_json
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.to_json import entry_wire, revision_wire


@click.command()
@click.argument("entry_uid")
@click.option("--revisions", is_flag=True, help="Show earlier revisions too.")
@json_option
def entry(entry_uid: str, *, revisions: bool) -> None:
    """Show one entry."""

    async def action(services: Services) -> dict[str, Any]:
        found = await services.store.entry(entry_uid)
        if found is None:
            message = f"there is no entry {entry_uid!r}"
            raise NotFoundError(message, "`feedmill entries` lists them")
        shape = entry_wire(found)
        if revisions:
            earlier = await services.store.revisions(entry_uid)
            shape["history"] = [revision_wire(one) for one in earlier]
        return shape

    result = with_services(action)
    if is_json():
        show_json(result)
        return
    earlier = result.pop("history", ())
    show_facts(result)
    for number, one in enumerate(earlier, 1):
        click.echo()
        show_facts({f"revision {number}": one})
