"""`feedmill show`: show one feed."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click
import msgspec

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.feeds.push import effects_in_words
from feedmill.engine.service.health.figures import feed_figures
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_facts, show_json
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.addresses import mask_address
from feedmill.publish.to_json import feed_wire


@click.command()
@click.argument("feed")
@json_option
def show(feed: str) -> None:
    """Show one feed and the figures of its last 30 days (FEED is an id, the start or the end of one,
    an address or a title)."""

    async def action(services: Services) -> dict[str, Any]:
        found = await resolve_feed(feed, services)
        aliases = await services.store.aliases(found.id)
        shape = feed_wire(found, services.config.schedule, services.config.moves)
        figures = await feed_figures(found.id, services, granularity="day")
        effects = await effects_in_words(found, services)
        return {
            **shape,
            "aliases": list(map(mask_address, aliases)),
            "effects": list(effects),
            "figures": msgspec.to_builtins(figures),
        }

    result = with_services(action)
    if is_json():
        show_json(result)
        return
    figures = result.pop("figures")
    show_facts(result)
    show_facts({"last 30 days": {**figures["total"], "failures": _failures(figures["failures"])}})


def _failures(failures: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['count']} × {one['outcome']}{' ' + str(one['status']) if one['status'] else ''}"
        f" ({one['fault']})"
        for one in failures
    ]
