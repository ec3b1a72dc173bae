"""Finds feeds by what a person types: an id, the start of an id, an address or a title."""
# Tested in tests/integration/interfaces/cli/test_feed_name_lookup.py

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import iterate_feeds
from feedmill.errors import NotFoundError, UsageError
from feedmill.model.feed import Feed


async def resolve_feed(name: str, services: Services) -> Feed:
    """The feed with this id, start of an id, address, alias or title."""
    feed = await services.store.feed(name) or await services.store.find_feed((name,))
    if feed is None and name.strip():  # an empty name is how every id begins
        feed = await _find_by_prefix(name, services)
    if feed is None:
        message = f"there is no feed {name!r}"
        raise NotFoundError(message, "`feedmill list` lists them")
    return feed


async def resolve_feeds(names: tuple[str, ...], services: Services) -> list[Feed]:
    """The feeds of these names, each once; NotFoundError when one is unknown."""
    found = [await resolve_feed(name, services) for name in names]
    return list({feed.id: feed for feed in found}.values())


async def all_feeds(services: Services, tag: str | None = None) -> list[Feed]:
    """Every subscription, or those with a tag."""
    return [feed async for feed in iterate_feeds(services, tag)]


async def _find_by_prefix(name: str, services: Services) -> Feed | None:
    wanted = name.casefold()
    found = [
        feed
        async for feed in iterate_feeds(services)
        if feed.id.startswith(wanted) or (feed.title or "").casefold() == wanted
    ]
    if len(found) > 1:
        message = f"{name!r} matches {len(found)} feeds; use more of the id"
        raise UsageError(message)
    return found[0] if found else None
