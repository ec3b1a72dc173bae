"""Subscribing for other programs: one address, or a whole list of them; and the list back.

One address is looked at first, like at the command line: what it leads to is found, proven and
named. A list is taken as it is listed, because a program waits for the answer: nobody is asked
anything, and polling finds out.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from feedmill.engine.run.services import World
from feedmill.engine.service.queries import check_intervals, every_feed
from feedmill.engine.subscribe.add_feed import Subscribed, checked_address, subscribe
from feedmill.engine.subscribe.canonicalise import canonicalise_with
from feedmill.engine.subscribe.import_list import ADDED, EXISTING, import_outlines
from feedmill.engine.subscribe.list_formats import Outline, read_list, write_opml
from feedmill.engine.subscribe.probe import Prober
from feedmill.engine.subscribe.subscriber import Choices, Desk
from feedmill.errors import ListError, NoFeedError, SeveralFeedsError
from feedmill.fetch.guard import shown
from feedmill.model.canonical import NotCanonical
from feedmill.model.feed import FeedOverrides
from feedmill.publish.shapes import AddedFeed, CanonicalShape, FeedWish, Imported, NotImported
from feedmill.publish.to_shapes import added_feed


async def add_feed(wish: FeedWish, world: World, desk: Desk | None = None) -> AddedFeed:
    """The feed that the address leads to, new or known.

    A `desk` that is kept from one wish to the next keeps its manners towards hosts. AddressError
    for what may not be asked, NoFeedError for what is no feed, SeveralFeedsError for a choice.
    """
    own = FeedOverrides(
        min_interval_sec=wish.min_interval_sec,
        max_interval_sec=wish.max_interval_sec,
        user_agent=wish.user_agent,
        headers=wish.headers,
        username=wish.username,
        password=wish.password,
    )
    check_intervals(own)
    done = await _join(wish, own, world, desk)
    return added_feed(done.feed, world.config.schedule, created=done.created)


async def canonicalize(url: str, world: World, desk: Desk | None = None) -> CanonicalShape:
    """The one right address of the feed at an address, fetched and proven; nothing is stored."""
    target = checked_address(url, world.config.fetch.allow_cidrs)
    desk = desk or Desk(world)
    prober = Prober(world.fetcher, world.clock, world.config, desk.manners)
    found = await canonicalise_with(prober.look, target.url, desk.options)
    if isinstance(found, NotCanonical):
        message = f"there is no feed at {shown(target.url)} ({found.reason})"
        raise NoFeedError(message, reason=found.reason)
    return replace(found, existing=None)


async def import_list(data: bytes, world: World, *, tags: Sequence[str] = ()) -> Imported:
    """Subscribe to every feed of a list, as listed; a bad address costs that address only."""
    try:
        outlines = read_list(data)
    except ValueError as problem:
        raise ListError(str(problem)) from problem
    done = await import_outlines(outlines, world, tags=tags, as_is=True)
    return Imported(
        total=done.total,
        added=done.count(ADDED),
        existing=done.count(EXISTING),
        failed=tuple(
            NotImported(url=item.url, reason=item.reason, message=item.detail)
            for item in done.failed
        ),
    )


async def export_opml(world: World, *, tag: str | None = None) -> bytes:
    """All subscriptions as OPML 2.0; credentials stay here."""
    outlines = [
        Outline(url=feed.url, title=feed.title, site=feed.site_url, tags=feed.tags)
        async for feed in every_feed(world, tag)
    ]
    return write_opml(outlines)


async def _join(wish: FeedWish, own: FeedOverrides, world: World, desk: Desk | None) -> Subscribed:
    if wish.as_is:
        return await subscribe(wish.url, world, title=wish.title, tags=wish.tags, overrides=own)
    done = await (desk or Desk(world)).join(
        wish.url,
        title=wish.title,
        tags=wish.tags,
        overrides=own,
        choose=None if wish.choose is None else str(wish.choose),
    )
    if isinstance(done, Choices):
        message = f"{shown(done.page_url)} leads to {len(done.feeds)} feeds"
        raise SeveralFeedsError(message, done.feeds)
    return done
