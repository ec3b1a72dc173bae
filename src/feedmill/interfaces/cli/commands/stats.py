"""`feedmill stats`: count feeds, entries, fetches and events."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@context_and_json
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Count feeds, entries, fetches and events."""

    async def action(services: Services) -> dict[str, int]:
        return (await counts(services)).counts

    result = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json(result)
        return
    for key, value in result.items():
        click.echo(f"{key:<28}{value:>12,}")
