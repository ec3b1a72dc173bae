"""`feedmill cursors`: positions of readers in the event log."""
# Tested in tests/integration/interfaces/cli/commands/servers/test_cursors.py

import click

from feedmill.engine.service import queries
from feedmill.interfaces.cli.options import json_option, list_options
from feedmill.interfaces.cli.output import show_list, show_result
from feedmill.interfaces.cli.run_command import with_services


@click.group()
def cursors() -> None:
    """List or delete the positions of readers in the event log.

    The files in out/, each bus and each webhook has one. Events are kept until every reader has read them, at most
    [retention] unread_events_keep_days.
    """


@cursors.command("list")
@list_options()
def list_cursors() -> None:
    """List readers, how far they are behind, and since when.

    \b
    Examples:
      feedmill cursors list
      feedmill cursors list --json
    """

    found = with_services(queries.list_cursors)
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
    show_list(found.items, head, rows, empty="no readers yet", whole=found)


@cursors.command("drop")
@click.argument("consumer", metavar="READER")
@json_option
def drop_cursor(consumer: str) -> None:
    """Delete the position of a reader. One that does not read any more holds events back.

    A reader that comes back begins with the oldest event that is kept. A webhook is removed with `feedmill webhook remove`.

    \b
    Examples:
      feedmill cursors drop bus:nats
    """

    with_services(lambda services: queries.drop_cursor(consumer, services))
    show_result({"dropped": consumer}, f"dropped {consumer}")
