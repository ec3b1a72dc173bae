"""`feedmill migrate`: bring the store to this version; a job of its own, before workers start."""

import sys

import click

from feedmill.app.store_moves import migrate_store, missing_migrations
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import config_of, run_async


@click.command()
@click.option(
    "--check", is_flag=True, help="Change nothing; leave with 1 when something is missing."
)
@json_option
@click.pass_context
def migrate(ctx: click.Context, *, check: bool, as_json: bool) -> None:
    """Bring the store to this version of feedmill; harmless when it is there already.

    Each step is one transaction and is taken once, also by two jobs at the same time. Workers, API
    and relays wait for it. On SQLite every command does it by itself.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill migrate
      feedmill migrate --check && echo up to date
    """
    config = config_of(ctx, as_json=as_json)

    async def action() -> tuple[str, ...]:
        return await (missing_migrations(config) if check else migrate_store(config))

    names = run_async(action, as_json=as_json)
    if as_json:
        show_json({"missing" if check else "applied": names})
    else:
        for name in names:
            click.echo(f"{'missing' if check else 'applied'}  {name}")
        if not names:
            click.echo("the store is at this version")
    sys.exit(1 if check and names else 0)
