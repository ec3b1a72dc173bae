"""`feedmill cursors`: positions of readers in the event log."""
# Tested in tests/integration/interfaces/cli/commands/test_cursors.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import cursors as service
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_json, show_table
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.shapes import CursorPage


@click.group()
def cursors() -> None:
    """List or delete the positions of readers in the event log.

    The files in out/, each bus and each webhook has one. Events are kept until every reader has read them, at most
    [retention] unread_events_keep_days.
    """


@cursors.command("list")
@context_and_json
def list_cursors(ctx: click.Context, *, as_json: bool) -> None:
    """List readers, how far they are behind, and since when.

    \b
    Examples:
      feedmill cursors list
      feedmill cursors list --json
    """

    async def action(services: Services) -> CursorPage:
        return await service.list_cursors(services)

    found = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json(found)
        return
    show_table(
        ("reader", "position", "behind", "oldest unread event"),
        [
            (
                one.consumer,
                f"{one.seq:,}",
                f"{one.behind:,}",
                "" if one.unread_since is None else f"{one.unread_since:%Y-%m-%d %H:%M}",
            )
            for one in found.items
        ],
    )


@cursors.command("drop")
@click.argument("consumer", metavar="READER")
@context_and_json
def drop_cursor(ctx: click.Context, consumer: str, *, as_json: bool) -> None:
    """Delete the position of a reader that does not read any more, so that it does not hold events.

    A reader that comes back begins with the oldest event that is kept. A webhook is removed with `feedmill webhook remove`.

    \b
    Examples:
      feedmill cursors drop bus:nats
    """

    async def action(services: Services) -> None:
        await service.drop_cursor(consumer, services)

    with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json({"dropped": consumer})
    else:
        click.echo(f"dropped {consumer}")
