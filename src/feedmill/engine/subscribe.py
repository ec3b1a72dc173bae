"""Subscribing to an address: one feed per address, whoever adds it and however often (D5)."""

from collections.abc import Sequence

from feedmill.canonicalise.addresses import resolve_url
from feedmill.engine.world import World
from feedmill.errors import UsageError
from feedmill.fetch.guard import check_url
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FeedOverrides, NewFeed
from feedmill.model.fetch import Refused
from feedmill.publish.events import event_of_new_feed
from feedmill.schedule.states import initial_state


class Subscribed(Value):
    """The feed that an address leads to, and whether it is new here."""

    feed: Feed
    created: bool


async def subscribe(
    address: str,
    world: World,
    *,
    title: str | None = None,
    tags: Sequence[str] = (),
    overrides: FeedOverrides | None = None,
) -> Subscribed:
    """Add a feed by its address, or find it under any address it was ever met at."""
    url = resolve_url(address)
    if url is None:
        message = f"{address!r} is no web address; give one like https://example.com/feed"
        raise UsageError(message)
    verdict = check_url(url, allow_cidrs=world.config.fetch.allow_cidrs)
    if isinstance(verdict, Refused):
        message = f"{address!r} cannot be fetched: {verdict.detail or verdict.reason}"
        raise UsageError(message)
    known = await world.store.find_feed((url, address.strip()))
    if known is not None:
        return Subscribed(feed=known, created=False)
    now = world.clock.now()
    new = NewFeed(
        id=world.clock.new_id(),
        url=url,
        created_at=now,
        next_poll_at=now,
        schedule=initial_state(world.config.schedule),
        aliases=tuple(dict.fromkeys((url, address.strip()))),
        title=title,
        tags=tuple(sorted(set(tags))),
        overrides=overrides or FeedOverrides(),
    )
    feed, created = await world.store.add_feed(new, (event_of_new_feed(new),))
    return Subscribed(feed=feed, created=created)
