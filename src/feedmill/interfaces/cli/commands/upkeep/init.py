"""`feedmill init`: create the home folder and its store."""
# Tested in tests/integration/interfaces/cli/

from pathlib import Path

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts
from feedmill.interfaces.cli.command import Answer, command


@command(schema="apply")
async def init(services: Services) -> Answer:
    """Create the home folder and its store; does nothing when they exist."""
    found, home = (await counts(services)).counts, services.config.store.home

    def show() -> None:
        click.echo(f"ready: {Path(home).resolve()} ({found['feeds']} feeds)")
        click.echo("next: feedmill add https://example.com/feed && feedmill sync")

    return Answer({"home": home, **found}, show)
