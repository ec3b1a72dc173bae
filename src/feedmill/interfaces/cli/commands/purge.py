"""`feedmill purge`: delete what retention no longer keeps."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_result
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@context_and_json
def purge(ctx: click.Context, *, as_json: bool) -> None:
    """Delete what retention no longer keeps; entries still in a feed's document stay."""

    async def action(services: Services) -> dict[str, int]:
        return await purge_old(services)

    result = with_services(ctx, action, as_json=as_json)
    show_result(
        result,
        ", ".join(f"{value:,} {key}" for key, value in result.items()) or "nothing to do",
        as_json=as_json,
    )
