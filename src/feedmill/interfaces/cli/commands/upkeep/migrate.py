"""`feedmill migrate`: migrate the store to this version, before workers start."""
# Tested in tests/integration/interfaces/cli/

import sys

import click

from feedmill.app.store_moves import migrate_store, missing_migrations
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import config_of, run_async


@click.command()
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with 1 when migrations are missing."
)
@json_option
def migrate(*, check: bool) -> None:
    """Migrate the store to this version of feedmill; does nothing when it is up to date.

    Each migration is one transaction and is applied once, even by two jobs at the same time.
    Workers, APIs and relays wait for it. On SQLite every command migrates by itself.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill migrate
      feedmill migrate --check && echo up to date
    """
    config = config_of()

    async def action() -> tuple[str, ...]:
        return await (missing_migrations(config) if check else migrate_store(config))

    names = run_async(action)
    if is_json():
        show_json({"missing" if check else "applied": names})
    else:
        for name in names:
            click.echo(f"{'missing' if check else 'applied'}  {name}")
        if not names:
            click.echo("the store is up to date")
    sys.exit(1 if check and names else 0)
