"""Finds feeds by what a person types: an id, the start or the end of an id, an address or a title."""
# Tested in tests/integration/interfaces/cli/test_feed_name_lookup.py

from collections.abc import AsyncIterator
from typing import Final

from feedmill.engine.run.services import Services, each_item
from feedmill.errors import UsageError, required
from feedmill.model.feed import Feed

_PAGE_ITEMS: Final = 1_000


async def resolve_feed(name: str, services: Services) -> Feed:
    """The feed with this id, start or end of an id, address, alias or title."""
    feed = await services.store.feed(name) or await services.store.find_feed((name,))
    if feed is None and name.strip():  # an empty name is how every id begins
        feed = await _find_by_part(name, services) or await _find_by_spelling(name, services)
    return required(feed, f"there is no feed {name!r}", "`feedmill list` lists them")


async def feed_id_of(name: str | None, services: Services) -> str | None:
    """The id of the feed that an option names; None when it is not given. An empty name is no feed, not every feed."""
    return None if name is None else (await resolve_feed(name, services)).id


async def resolve_feeds(names: tuple[str, ...], services: Services) -> list[Feed]:
    """The feeds of these names, each once; NotFoundError when one is unknown."""
    found = [await resolve_feed(name, services) for name in names]
    return list({feed.id: feed for feed in found}.values())


def iterate_feeds(services: Services, tag: str | None = None) -> AsyncIterator[Feed]:
    """All subscriptions, page by page."""
    read = services.store.feeds
    return each_item(lambda after: read(tag=tag, after=after, limit=_PAGE_ITEMS))


async def all_feeds(services: Services, tag: str | None = None) -> list[Feed]:
    """Every subscription, or those with a tag."""
    return [feed async for feed in iterate_feeds(services, tag)]


async def _find_by_spelling(name: str, services: Services) -> Feed | None:
    """The feed of an address as people write it: `add` has completed it in the same way."""
    from feedmill.canonicalise.pasted_url import resolve_url  # noqa: PLC0415  # only for such a name

    url = resolve_url(name)
    if url is None:
        return None
    # A list shows feeds without a title without their scheme.
    plain = url.replace("https:", "http:", 1)
    return await services.store.find_feed((url, plain))


async def _find_by_part(name: str, services: Services) -> Feed | None:
    wanted = name.casefold()
    found = [
        feed
        async for feed in iterate_feeds(services)
        if feed.id.startswith(wanted)
        or feed.id.endswith(wanted)
        or (feed.title or "").casefold() == wanted
    ]
    if len(found) > 1:
        message = f"{name!r} matches {len(found)} feeds; use more of the id"
        raise UsageError(message)
    return found[0] if found else None
