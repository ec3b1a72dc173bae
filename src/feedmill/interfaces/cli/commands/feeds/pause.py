"""`feedmill pause` and `feedmill resume`: stop polling feeds, and poll them again."""
# Tested in tests/integration/interfaces/cli/

from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import feeds_argument
from feedmill.publish.to_json import feed_wire


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
