"""`feedmill show`: show one feed."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_facts, show_json
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.to_json import feed_wire


@click.command()
@click.argument("feed")
@context_and_json
def show(ctx: click.Context, feed: str, *, as_json: bool) -> None:
    """Show one feed (FEED is an id, the start of an id, an address or a title)."""

    async def action(services: Services) -> dict[str, Any]:
        found = await resolve_feed(feed, services)
        aliases = await services.store.aliases(found.id)
        shape = feed_wire(found, services.config.schedule, services.config.moves)
        return {**shape, "aliases": list(aliases)}

    result = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json(result)
        return
    show_facts(result)
