"""`feedmill hosts`: list hosts that pause, fail or hold feeds back."""
# Tested in tests/integration/interfaces/cli/commands/test_hosts.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.hosts import get_host, list_hosts
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_facts, show_json, show_list
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.host_shapes import HostPage, HostShape

_HEAD = ("host", "state", "reason", "since", "until", "held", "feeds", "canary")


@click.command()
@click.argument("host", required=False)
@click.option("--all", "everything", is_flag=True, help="Also hosts without a problem.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--cursor", metavar="CURSOR", help="Where the page before ended.")
@context_and_json
def hosts(
    ctx: click.Context,
    host: str | None,
    limit: int,
    cursor: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """List hosts that pause or fail: since when, until when, how many feeds wait, who tries them.

    \b
    Examples:
      feedmill hosts
      feedmill hosts --all --json
      feedmill hosts example.com
    """
    if host is not None:
        one = with_services(ctx, lambda services: get_host(host, services), as_json=as_json)
        show_json(one) if as_json else show_facts(_facts(one))
        return

    async def action(services: Services) -> HostPage:
        return await list_hosts(services, troubled=not everything, cursor=cursor, limit=limit)

    page = with_services(ctx, action, as_json=as_json)
    rows = [tuple(_facts(one).values()) for one in page.items]
    show_list(
        page.items,
        _HEAD,
        rows,
        as_json=as_json,
        empty="no host pauses or fails",
        following=page.next,
    )


def _facts(one: HostShape) -> dict[str, str]:
    return {
        "host": one.host,
        "state": one.state,
        "reason": one.reason or "",
        "since": "" if one.since is None else f"{one.since:%Y-%m-%d %H:%M} UTC",
        "until": "" if one.until is None else f"{one.until:%Y-%m-%d %H:%M} UTC",
        "held": str(one.held),
        "feeds": str(one.feeds),
        "canary": one.canary or "",
    }
