"""`feedmill show`: show one feed."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click
import msgspec

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.figures import feed_figures
from feedmill.engine.service.hosts import effects_in_words
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import show_facts
from feedmill.model.addresses import mask_address
from feedmill.publish.to_json import feed_wire


@command()
@click.argument("feed")
async def show(services: Services, feed: str) -> Answer:
    """Show one feed and the figures of its last 30 days (FEED is an id, the start or the end of one,
    an address or a title)."""
    found = await resolve_feed(feed, services)
    shape = {
        **feed_wire(found, services.config.schedule, services.config.moves),
        "aliases": list(map(mask_address, await services.store.aliases(found.id))),
        "effects": list(await effects_in_words(found, services)),
    }
    figures = msgspec.to_builtins(await feed_figures(found.id, services, granularity="day"))
    month = {**figures["total"], "failures": _failures(figures["failures"])}
    return Answer(
        {**shape, "figures": figures}, lambda: show_facts({**shape, "last 30 days": month})
    )


def _failures(failures: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['count']} × {one['outcome']}{' ' + str(one['status']) if one['status'] else ''}"
        f" ({one['fault']})"
        for one in failures
    ]
