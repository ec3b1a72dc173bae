"""Subscribes for the APIs: one address or a list of them; exports OPML; one action on many feeds (pause, resume, refetch, tag, remove).

One address is resolved first, as on the command line. A list is added as listed, because a program
waits for the answer: no request is made, and polling finds out.
"""
# Tested in tests/integration/interfaces/rest/

from collections.abc import Sequence
from typing import Literal, get_args

from msgspec.structs import replace

from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.poll.refresh import keep_first_fetch
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import iterate_feeds
from feedmill.engine.service.queries import change_feed, check_intervals, remove_feed, require_feed
from feedmill.engine.subscribe.add_feed import Subscribed, subscribe_unchecked, validate_address
from feedmill.engine.subscribe.canonicalise import canonicalise_with
from feedmill.engine.subscribe.import_list import ADDED, EXISTING, import_outlines
from feedmill.engine.subscribe.list_formats import Outline, read_list, write_opml
from feedmill.engine.subscribe.no_feed import no_feed_error
from feedmill.engine.subscribe.subscriber import FeedChoices, KeepFirst, Subscriber
from feedmill.errors import ListError, NotFoundError, SeveralFeedsError, UsageError
from feedmill.fetch.guard import MAX_URL_CHARS
from feedmill.model.addresses import mask_address
from feedmill.model.base import filled
from feedmill.model.canonical import NotCanonical
from feedmill.model.feed import FeedOverrides
from feedmill.model.page import FeedFilter
from feedmill.publish import shapes
from feedmill.publish.shapes import FeedChange
from feedmill.publish.to_shapes import added_feed


def open_subscriber(services: Services) -> Subscriber:
    """A subscriber that keeps what it fetched as the first fetch of a new feed."""
    return Subscriber(services, keep_first=keep_first_with(services))


def keep_first_with(services: Services) -> KeepFirst:
    """Stores an answer as the first fetch of a new feed."""
    return lambda feed, answer: keep_first_fetch(feed, answer, services)


async def add_feed(
    wish: shapes.FeedWish, services: Services, subscriber: Subscriber | None = None
) -> shapes.AddedFeed:
    """The feed that the address leads to, new or known.

    A `subscriber` that is kept between calls keeps its queue per host. AddressError
    for what may not be fetched, NoFeedError for what is no feed, SeveralFeedsError for a choice.
    """
    own = filled(FeedOverrides, wish, archive_backfill=wish.history)
    check_intervals(own)
    done = await _subscribe(wish, own, services, subscriber)
    return added_feed(done.feed, services.config.schedule, created=done.created)


async def canonicalize(
    url: str, services: Services, subscriber: Subscriber | None = None
) -> shapes.CanonicalShape:
    """The one right address of the feed at an address, fetched and proven; nothing is stored."""
    target = validate_address(url, services.config.fetch.allow_cidrs, services.rules)
    subscriber = subscriber or open_subscriber(services)
    found = await canonicalise_with(subscriber.prober().probe, target.url, subscriber.options)
    if isinstance(found, NotCanonical):
        raise no_feed_error(target.url, found)
    return replace(found, existing=None)


async def discover(
    wish: shapes.DiscoverWish, services: Services, subscriber: Subscriber | None = None
) -> shapes.DiscoveredShape:
    """Every feed that an address leads to, what was tried and what it cost; nothing is stored."""
    subscriber = subscriber or open_subscriber(services)
    return await subscriber.discover(wish.url, budget=wish.budget)


async def import_list(
    data: bytes, services: Services, *, tags: Sequence[str] = ()
) -> shapes.Imported:
    """Subscribe to every feed of a list, as listed; a bad address costs that address only."""
    try:
        outlines = await PARSE_THREADS.run(lambda: read_list(data))  # megabytes
    except ValueError as problem:
        raise ListError(str(problem)) from problem
    done = await import_outlines(outlines, services, tags=tags, as_is=True)
    return shapes.Imported(
        total=done.total,
        added=done.count(ADDED),
        existing=done.count(EXISTING),
        failed=tuple(
            shapes.NotImported(
                url=mask_address(item.url[:MAX_URL_CHARS]),
                reason=item.reason,
                message=item.detail,
            )
            for item in done.failed
        ),
    )


async def export_opml(services: Services, *, tag: str | None = None) -> bytes:
    """All subscriptions as OPML 2.0; without credentials, and with *** for tokens in addresses."""
    outlines = [
        Outline(
            url=mask_address(feed.url),
            title=feed.title,
            site=feed.site_url and mask_address(feed.site_url),
            tags=feed.tags,
        )
        async for feed in iterate_feeds(services, tag)
    ]
    return write_opml(outlines)


async def _subscribe(
    wish: shapes.FeedWish, own: FeedOverrides, services: Services, subscriber: Subscriber | None
) -> Subscribed:
    if wish.as_is:
        return await subscribe_unchecked(
            wish.url, services, title=wish.title, tags=wish.tags, overrides=own
        )
    done = await (subscriber or open_subscriber(services)).subscribe(
        wish.url,
        title=wish.title,
        tags=wish.tags,
        overrides=own,
        choose=None if wish.choose is None else str(wish.choose),
        budget=wish.budget,
    )
    if isinstance(done, FeedChoices):
        raise SeveralFeedsError(done.words, done.feeds)
    return done


BulkAction = Literal["pause", "resume", "refetch", "add-tag", "remove-tag", "remove"]
MAX_BULK_FEEDS = 2_000  # of one action


def bulk_action(name: str, tag: str) -> BulkAction:
    """The action of that name; UsageError for another one, or for a tag that is missing."""
    known: tuple[BulkAction, ...] = get_args(BulkAction)
    found = next((one for one in known if one == name), None)
    if found is None:
        message = f"unknown action {name[:40]!r}; known are: {', '.join(known)}"
        raise UsageError(message)
    is_tag = bool(tag.strip()) and tag.isprintable() and len(tag) <= 100
    if found in ("add-tag", "remove-tag") and not is_tag:
        message = "a tag of 1 to 100 printable characters is needed"
        raise UsageError(message)
    return found


async def matching_feed_ids(where: FeedFilter, services: Services) -> tuple[str, ...]:
    """The feeds that a list shows, at most as many as one action takes."""
    page = await services.store.find_feeds(where, limit=MAX_BULK_FEEDS)
    return tuple(feed.id for feed in page.items)


async def apply_to_feeds(
    action: BulkAction, feed_ids: Sequence[str], services: Services, *, tag: str = ""
) -> int:
    """Do it to each feed; how many there were. A feed that is gone meanwhile is passed over."""
    if action == "refetch":
        return await services.store.make_due(list(feed_ids), services.clock.now())
    done = 0
    for feed_id in dict.fromkeys(feed_ids):
        try:
            await _apply(action, feed_id, services, tag.strip())
        except NotFoundError:
            continue
        done += 1
    return done


async def _apply(action: BulkAction, feed_id: str, services: Services, tag: str) -> None:
    if action == "remove":
        await remove_feed(feed_id, services)
        return
    if action in ("pause", "resume"):
        change = FeedChange(paused=action == "pause")
    else:
        feed = await require_feed(feed_id, services)
        tags = {*feed.tags, tag} if action == "add-tag" else {*feed.tags} - {tag}
        change = FeedChange(tags=tuple(sorted(tags)))
    await change_feed(feed_id, change, services)
