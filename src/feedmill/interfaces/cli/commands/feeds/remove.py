"""`feedmill remove`: delete subscriptions."""
# Tested in tests/integration/interfaces/cli/

import sys

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.engine.service.queries import remove_feed
from feedmill.interfaces.cli.command import Answer, answer_with, command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import feeds_argument, flag
from feedmill.interfaces.cli.output import format_count, shorten
from feedmill.model.feed import Feed


@command()
@feeds_argument
@flag("--yes", "Do not ask for confirmation.")
def remove(feeds: tuple[str, ...], *, yes: bool) -> None:
    """Delete subscriptions and their entries; raw documents are deleted by retention."""
    if not (yes or is_json() or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", status=2)

    async def action(services: Services) -> Answer:
        chosen = await resolve_feeds(feeds, services)
        if not (yes or is_json()) and not _agreed(chosen):
            chosen = []
        for feed in chosen:
            await remove_feed(feed.id, services)
        gone = [feed.id for feed in chosen]
        return Answer({"items": gone, "next": None}, f"removed {len(gone)}")

    answer_with(action)


def _agreed(feeds: list[Feed]) -> bool:
    for feed in feeds:
        click.echo(f"  {shorten(feed.title or '-', 200)}  {feed.url}")
    with ctrl_c_ends_prompt():
        return click.confirm(f"remove {format_count(len(feeds), 'feed')} with all entries?")
