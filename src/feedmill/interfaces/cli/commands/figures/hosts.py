"""`feedmill hosts`: list hosts that pause, fail or hold feeds back."""
# Tested in tests/integration/interfaces/cli/commands/figures/test_hosts.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.hosts import get_host, list_hosts
from feedmill.interfaces.cli.command import Answer, answer_with, command, show_pages
from feedmill.interfaces.cli.options import flag, list_options, option
from feedmill.interfaces.cli.output import show_facts
from feedmill.publish.figure_shapes import HostShape

_HEAD = ("host", "state", "reason", "since", "until", "pace", "held", "feeds", "canary")


@command()
@click.argument("host", required=False)
@flag("--all", "everything", "Also hosts without a problem.")
@list_options(100)
@option("--cursor CURSOR", "An earlier name of --after.", hidden=True)
def hosts(host: str | None, cursor: str | None, *, everything: bool) -> None:
    """List hosts that pause or fail: since when, until when, at which pace, how many feeds wait, who tries them.

    \b
    Examples:
      feedmill hosts
      feedmill hosts --all --json
      feedmill hosts example.com
    """
    if host is not None:
        answer_with(lambda services: _one(host, services))
        return
    show_pages(
        lambda services, after, limit: list_hosts(
            services, troubled=not everything, cursor=after or cursor, limit=limit
        ),
        _HEAD,
        lambda one: tuple(_facts(one).values()),
        empty="no host pauses or fails",
    )


async def _one(host: str, services: Services) -> Answer:
    found = await get_host(host, services)
    return Answer(found, lambda: show_facts(_facts(found)))


def _facts(one: HostShape) -> dict[str, str]:
    return {
        "host": one.host,
        "state": one.state,
        "reason": one.reason or "",
        "since": "" if one.since is None else f"{one.since:%Y-%m-%d %H:%M} UTC",
        "until": "" if one.until is None else f"{one.until:%Y-%m-%d %H:%M} UTC",
        "pace": f"1 in {one.gap_sec:g} s" + (f", {one.slow_down:g} ×" if one.slow_down > 1 else ""),
        "held": str(one.held),
        "feeds": str(one.feeds),
        "canary": (one.canary or "")[-12:],
    }
