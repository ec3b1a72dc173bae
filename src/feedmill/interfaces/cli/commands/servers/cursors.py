"""`feedmill cursors`: positions of readers in the event log."""
# Tested in tests/integration/interfaces/cli/commands/servers/test_cursors.py

from functools import partial

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.interfaces.cli.command import Answer, Printer, command
from feedmill.interfaces.cli.options import list_options
from feedmill.interfaces.cli.output import show_list


@click.group()
def cursors() -> None:
    """List or delete the positions of readers in the event log.

    The files in out/, each bus and each webhook has one. Events are kept until every reader has read them, at most
    [retention] unread_events_keep_days.
    """


@command("list", of=cursors)
@list_options()
async def list_cursors(services: Services) -> Printer:
    """List readers, how far they are behind, and since when.

    \b
    Examples:
      feedmill cursors list
      feedmill cursors list --json
    """
    found = await queries.list_cursors(services)
    rows = [
        (
            one.consumer,
            f"{one.seq:,}",
            f"{one.behind:,}",
            "" if one.unread_since is None else f"{one.unread_since:%Y-%m-%d %H:%M}",
        )
        for one in found.items
    ]
    head = ("reader", "position", "behind", "oldest unread event")
    return partial(show_list, found.items, head, rows, empty="no readers yet", whole=found)


@command("drop", of=cursors)
@click.argument("consumer", metavar="READER")
async def drop_cursor(services: Services, consumer: str) -> Answer:
    """Delete the position of a reader. One that does not read any more holds events back.

    A reader that comes back begins with the oldest event that is kept. A webhook is removed with `feedmill webhook remove`.

    \b
    Examples:
      feedmill cursors drop bus:nats
    """
    await queries.drop_cursor(consumer, services)
    return Answer({"dropped": consumer}, f"dropped {consumer}")
