"""`feedmill stats`: count feeds, entries, fetches and events."""

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.output import (
    json_option,
    show_json,
)
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@json_option
@click.pass_context
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Count feeds, entries, fetches and events."""

    async def story(services: Services) -> dict[str, int]:
        return await services.store.counts()

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
        return
    for key, value in result.items():
        click.echo(f"{key:<28}{value:>12,}")
