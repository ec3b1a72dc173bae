"""`feedmill remove`: delete subscriptions."""
# Tested in tests/integration/interfaces/cli/

import sys

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.engine.service.queries import remove_feed
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import format_count, shorten, show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.feed import Feed


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def remove(feeds: tuple[str, ...], *, yes: bool) -> None:
    """Delete subscriptions and their entries; raw documents are deleted by retention."""
    if not (yes or is_json() or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", status=2)

    async def action(services: Services) -> list[str]:
        chosen = await resolve_feeds(feeds, services)
        if not (yes or is_json()) and not _agreed(chosen):
            return []
        for feed in chosen:
            await remove_feed(feed.id, services)
        return [feed.id for feed in chosen]

    gone = with_services(action)
    show_result({"items": gone, "next": None}, f"removed {len(gone)}")


def _agreed(feeds: list[Feed]) -> bool:
    for feed in feeds:
        click.echo(f"  {shorten(feed.title or '-', 200)}  {feed.url}")
    with ctrl_c_ends_prompt():
        return click.confirm(f"remove {format_count(len(feeds), 'feed')} with all entries?")
