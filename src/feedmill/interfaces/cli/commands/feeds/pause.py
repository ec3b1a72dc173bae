"""`feedmill pause`: stop polling feeds."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click
from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.to_json import feed_wire


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@json_option
def pause(feeds: tuple[str, ...]) -> None:
    """Stop polling feeds until they are resumed."""
    set_paused(feeds, paused=True)


def set_paused(feeds: tuple[str, ...], *, paused: bool) -> None:
    """Pause or resume feeds and print the result."""

    async def action(services: Services) -> list[dict[str, Any]]:
        changed = []
        for found in await resolve_feeds(feeds, services):
            feed = replace(found, paused=paused)
            await services.store.change_feed(feed)
            if not paused:
                await services.store.make_due([feed.id], services.clock.now())
            changed.append(feed_wire(feed, services.config.schedule))
        return changed

    changed = with_services(action)
    show_result(
        {"items": changed, "next": None}, f"{'paused' if paused else 'resumed'} {len(changed)}"
    )
