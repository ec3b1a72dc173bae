"""`feedmill init`: create the home folder and its store."""

from pathlib import Path

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import (
    config_of,
    with_services,
)


@click.command()
@json_option
@click.pass_context
def init(ctx: click.Context, *, as_json: bool) -> None:
    """Create the home folder and its store; does nothing when they exist."""
    config = config_of(ctx, as_json=as_json)

    async def action(services: Services) -> dict[str, int]:
        return await services.store.counts()

    counts = with_services(ctx, action, as_json=as_json, config=config, schema="apply")
    if as_json:
        show_json({"home": config.store.home, **counts})
    else:
        click.echo(f"ready: {Path(config.store.home).resolve()} ({counts['feeds']} feeds)")
        click.echo("next: feedmill add https://example.com/feed && feedmill sync")
