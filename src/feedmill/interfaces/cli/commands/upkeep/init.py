"""`feedmill init`: create the home folder and its store."""
# Tested in tests/integration/interfaces/cli/

from pathlib import Path

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import config_of, with_services


@click.command()
@json_option
def init() -> None:
    """Create the home folder and its store; does nothing when they exist."""
    config = config_of()

    async def action(services: Services) -> dict[str, int]:
        return (await counts(services)).counts

    found = with_services(action, config=config, schema="apply")
    if is_json():
        show_json({"home": config.store.home, **found})
    else:
        click.echo(f"ready: {Path(config.store.home).resolve()} ({found['feeds']} feeds)")
        click.echo("next: feedmill add https://example.com/feed && feedmill sync")
