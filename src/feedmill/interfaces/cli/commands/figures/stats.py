"""`feedmill stats`: count feeds, entries, fetches and events."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@json_option
def stats() -> None:
    """Count feeds, entries, fetches and events."""

    async def action(services: Services) -> dict[str, int]:
        return (await counts(services)).counts

    result = with_services(action)
    if is_json():
        show_json(result)
        return
    for key, value in result.items():
        click.echo(f"{key:<28}{value:>12,}")
