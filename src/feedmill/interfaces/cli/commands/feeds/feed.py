"""`feedmill show`, `pause`, `resume` and `remove`: one feed or some of them."""
# Tested in tests/integration/interfaces/cli/

import sys
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed, resolve_feeds
from feedmill.engine.service.figures import feed_figures
from feedmill.engine.service.hosts import effects_in_words
from feedmill.engine.service.queries import remove_feed
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import feeds_argument, flag
from feedmill.interfaces.cli.output import format_count, shorten, show_facts
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
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


@command()
@feeds_argument
async def pause(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Stop polling feeds until they are resumed."""
    return await _set_paused(feeds, services, paused=True)


@command()
@feeds_argument
async def resume(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Poll paused feeds again, starting now."""
    return await _set_paused(feeds, services, paused=False)


async def _set_paused(feeds: tuple[str, ...], services: Services, *, paused: bool) -> Answer:
    changed = []
    for found in await resolve_feeds(feeds, services):
        feed = replace(found, paused=paused)
        await services.store.change_feed(feed)
        if not paused:
            await services.store.make_due([feed.id], services.clock.now())
        changed.append(feed_wire(feed, services.config.schedule))
    words = f"{'paused' if paused else 'resumed'} {len(changed)}"
    return Answer({"items": changed, "next": None}, words)


@command()
@feeds_argument
@flag("--yes", "Do not ask for confirmation.")
async def remove(open_services: OpenServices, feeds: tuple[str, ...], *, yes: bool) -> Answer:
    """Delete subscriptions and their entries; raw documents are deleted by retention."""
    if not (yes or is_json() or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", status=2)
    services = await open_services()
    chosen = await resolve_feeds(feeds, services)
    if not (yes or is_json()) and not _agreed(chosen):
        chosen = []
    for feed in chosen:
        await remove_feed(feed.id, services)
    gone = [feed.id for feed in chosen]
    return Answer({"items": gone, "next": None}, f"removed {len(gone)}")


def _agreed(feeds: list[Feed]) -> bool:
    for feed in feeds:
        click.echo(f"  {shorten(feed.title or '-', 200)}  {mask_address(feed.url)}")
    with ctrl_c_ends_prompt():
        return click.confirm(f"remove {format_count(len(feeds), 'feed')} with all entries?")
