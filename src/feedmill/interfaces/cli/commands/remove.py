"""`feedmill remove`: delete subscriptions."""
# Tested in tests/integration/interfaces/cli/

import sys

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.engine.service.queries import remove_feed
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import format_count, shorten, show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.feed import Feed


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@context_and_json
def remove(ctx: click.Context, feeds: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Delete subscriptions and their entries; raw documents are deleted by retention."""
    if not (yes or as_json or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", as_json=as_json, status=2)

    async def action(services: Services) -> list[str]:
        chosen = await resolve_feeds(feeds, services)
        if not (yes or as_json) and not _agreed(chosen):
            return []
        for feed in chosen:
            await remove_feed(feed.id, services)
        return [feed.id for feed in chosen]

    gone = with_services(ctx, action, as_json=as_json)
    show_result({"items": gone, "next": None}, f"removed {len(gone)}", as_json=as_json)


def _agreed(feeds: list[Feed]) -> bool:
    for feed in feeds:
        click.echo(f"  {shorten(feed.title or '-', 200)}  {feed.url}")
    return click.confirm(f"remove {format_count(len(feeds), 'feed')} with all entries?")
