"""`feedmill entry`: show one entry."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag
from feedmill.interfaces.cli.output import show_facts
from feedmill.publish.to_json import entry_wire, revision_wire


@command()
@click.argument("entry_uid")
@flag("--revisions", "Show earlier revisions too.")
async def entry(services: Services, entry_uid: str, *, revisions: bool) -> Answer:
    """Show one entry."""
    found = await services.store.entry(entry_uid)
    if found is None:
        message = f"there is no entry {entry_uid!r}"
        raise NotFoundError(message, "`feedmill entries` lists them")
    shape = entry_wire(found)
    if not revisions:
        return Answer(shape, lambda: show_facts(shape))
    history = [revision_wire(one) for one in await services.store.revisions(entry_uid)]

    def show() -> None:
        show_facts(shape)
        for number, one in enumerate(history, 1):
            click.echo()
            show_facts({f"revision {number}": one})

    return Answer({**shape, "history": history}, show)
