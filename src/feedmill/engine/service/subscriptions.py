"""Subscribes for the APIs: one address or a list of them; exports OPML; one action on many feeds (pause, resume, refetch, tag, remove).

One address is resolved first, as on the command line. A list is added as listed, because a program
waits for the answer: no request is made, and polling finds out.

Subscriptions to one feed: finds pairs, proves them, merges and undoes merges for every interface.
"""

import sys
from collections.abc import Sequence
from typing import Final, Literal, get_args

from msgspec.structs import replace

from feedmill.canonicalise.same_feed import best_format, format_name, same_blog
from feedmill.engine.moves.follow import MERGE_IS_FINAL
from feedmill.engine.poll.refresh import keep_first_fetch
from feedmill.engine.run.memory_budget import PARSE_THREADS, MemoryBudget
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import iterate_feeds, resolve_feed
from feedmill.engine.service.queries import change_feed, check_intervals, remove_feed, require_feed
from feedmill.engine.subscribe.add_feed import Subscribed, subscribe_unchecked, validate_address
from feedmill.engine.subscribe.canonicalise import canonicalise_with
from feedmill.engine.subscribe.discover import no_feed_error
from feedmill.engine.subscribe.import_list import ADDED, EXISTING, import_outlines
from feedmill.engine.subscribe.list_formats import Outline, read_list, write_opml
from feedmill.engine.subscribe.same_feed import prove_same, stored_document, stored_facts
from feedmill.engine.subscribe.subscriber import FeedChoices, KeepFirst, Subscriber
from feedmill.errors import ListError, NotFoundError, SeveralFeedsError, UsageError
from feedmill.fetch.guard import MAX_URL_CHARS
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value, filled
from feedmill.model.canonical import NotCanonical
from feedmill.model.derived.cluster import Mirrors
from feedmill.model.feed import FeedOverrides, MergedFeed
from feedmill.model.page import FeedFilter, check_text
from feedmill.publish import shapes
from feedmill.publish.events import event_of_merge, event_of_undone_merge
from feedmill.publish.shapes import FeedChange
from feedmill.publish.to_shapes import added_feed

_COMMON_ENTRIES: Final = 3  # that two feeds have at least
DuplicateProof = Literal["content", "signature", "formats"]


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
    with (services.memory or MemoryBudget(sys.maxsize)).share() as memory:
        await memory.take_for(len(data))  # megabytes
        try:
            outlines = await PARSE_THREADS.run(lambda: read_list(data))
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
    check_text("tag", tag)
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


class DuplicatePair(Value):
    """Two subscriptions with the same articles, which of them to keep, and the proof that they are one feed."""

    pair: Mirrors
    keep_id: str
    drop_id: str
    proof: DuplicateProof | None  # None: they only have articles in common
    why: str  # for a person


async def find_duplicates(
    services: Services, *, min_share: float = 0.5, limit: int = 50
) -> tuple[DuplicatePair, ...]:
    """Pairs of feeds with so large a share of entries in common, each with its proof."""
    found = await services.store.mirrors(
        min_common=_COMMON_ENTRIES, min_share=min_share, limit=limit
    )
    return tuple([await _judged(pair, services) for pair in found])


async def merge_duplicates(
    pairs: tuple[DuplicatePair, ...], services: Services
) -> tuple[DuplicatePair, ...]:
    """Merge the proven pairs; those that were merged. A feed of several pairs goes once."""
    done: list[DuplicatePair] = []
    for one in pairs:
        keep, drop = (
            await services.store.feed(one.keep_id),
            await services.store.feed(one.drop_id),
        )
        if one.proof is None or keep is None or drop is None:
            continue
        now = services.clock.now()
        event = event_of_merge(drop, keep, "entries", now=now)
        if await services.store.hide_merged(drop.id, keep.id, at=now, events=(event,)):
            done.append(one)
    return tuple(done)


async def undo_merge(name: str, services: Services) -> MergedFeed:
    """Undo the merge of a feed, named by its id or its address; it is polled again."""
    merged = await services.store.merged_feeds()
    found = next((one for one in merged if name in (one.feed_id, one.url)), None)
    if found is None:
        days = services.config.retention.merge_undo_days
        hint = (
            f"merges can be undone for {days} days: feedmill duplicates --merged; {MERGE_IS_FINAL}"
        )
        message = f"no merge of {name} can be undone"
        raise NotFoundError(message, hint)
    feed = await resolve_feed(found.into_id, services)
    event = event_of_undone_merge(found, feed, now=services.clock.now())
    await services.store.show_merged(found.feed_id, (event,))
    return found


async def _judged(pair: Mirrors, services: Services) -> DuplicatePair:
    ours = await services.store.feed(pair.feed_id)
    theirs = await services.store.feed(pair.other_id)
    if ours is None or theirs is None:
        return _pair(pair, None, "one of them is gone")
    document = await stored_document(theirs, services)
    proof = None
    if document is not None:
        proof = await prove_same(ours, document, services, by_entries=False)
    if proof == "content" or proof == "signature":
        return _pair(pair, proof, "both serve the same document; the older subscription is kept")
    facts = [await stored_facts(one, services) for one in (ours, theirs)]
    if facts[0] is None or facts[1] is None or not same_blog(facts[0], facts[1]):
        return _pair(pair, None, "they have articles in common, but are not proven to be one feed")
    best, why = best_format([facts[0], facts[1]])
    chosen = format_name((facts[0], facts[1])[best].format)
    words = f"one blog in two formats; {chosen} is kept for {why}"
    return _pair(pair, "formats", words, swap=best == 1)


def _pair(
    pair: Mirrors, proof: DuplicateProof | None, why: str, *, swap: bool = False
) -> DuplicatePair:
    keep, drop = (pair.other_id, pair.feed_id) if swap else (pair.feed_id, pair.other_id)
    return DuplicatePair(pair=pair, keep_id=keep, drop_id=drop, proof=proof, why=why)
