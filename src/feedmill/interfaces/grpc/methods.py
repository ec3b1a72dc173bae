"""What each method does: read the message, ask the question that every door asks, tell the answer."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from feedmill.engine.service import queries, subscriptions
from feedmill.errors import SeveralFeedsError, UsageError
from feedmill.interfaces.grpc.event_stream import checked_events, watch_events
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.handlers import Method, Methods, Room
from feedmill.interfaces.grpc.messages import (
    added_message,
    canonical_message,
    choices_message,
    decisions_message,
    events_message,
    fetch_message,
    instant,
    message_of,
    optional,
    read_change,
    read_wish,
)
from feedmill.model.entry_filter import EntryFilter
from feedmill.publish.shapes import CanonicalWish, EntryPage, FeedChange, FeedWish

_PART_BYTES: Final = 64 * 1024


class _Paged(Protocol):
    """A message with a list in it."""

    items: Any

    def ByteSize(self) -> int: ...  # noqa: N802  # protobuf's name


P = TypeVar("P", bound=_Paged)


# feeds


async def list_feeds(request: pb.ListFeedsRequest, room: Room) -> pb.FeedPage:
    """Subscriptions in the order in which they were added."""

    async def ask(limit: int) -> pb.FeedPage:
        page = await queries.list_feeds(
            room.world,
            tag=optional(request, "tag"),
            cursor=optional(request, "cursor"),
            limit=limit,
        )
        return message_of(pb.FeedPage, page)

    return await _fitting(request, room, ask)


async def get_feed(request: pb.FeedRequest, room: Room) -> pb.Feed:
    """One feed."""
    return message_of(pb.Feed, await queries.get_feed(request.id, room.world))


async def add_feed(request: pb.AddFeedRequest, room: Room) -> pb.AddFeedReply:
    """The feed that an address leads to."""
    wish = read_wish(request, FeedWish)
    try:
        return added_message(await subscriptions.add_feed(wish, room.world, room.desk))
    except SeveralFeedsError as several:
        return choices_message(several.choices)


async def change_feed(request: pb.ChangeFeedRequest, room: Room) -> pb.Feed:
    """The feed as it is after the change."""
    change = read_change(request, FeedChange)
    return message_of(pb.Feed, await queries.change_feed(request.id, change, room.world))


async def remove_feed(request: pb.FeedRequest, room: Room) -> pb.RemoveFeedReply:
    """Nothing: it is given up."""
    await queries.remove_feed(request.id, room.world)
    return pb.RemoveFeedReply()


async def refetch(request: pb.FeedRequest, room: Room) -> pb.RefetchReply:
    """When it is due now."""
    return message_of(pb.RefetchReply, await queries.refetch(request.id, room.world))


async def schedule(request: pb.ScheduleRequest, room: Room) -> pb.DecisionPage:
    """The last decisions."""
    page = await queries.schedule(request.id, room.world, limit=optional(request, "limit"))
    return decisions_message(page)


async def health(request: pb.FeedRequest, room: Room) -> pb.FeedHealth:
    """How the feed is."""
    return message_of(pb.FeedHealth, await queries.health(request.id, room.world))


# entries


async def list_entries(request: pb.ListEntriesRequest, room: Room) -> pb.EntryPage:
    """Entries, the latest arrivals first."""
    where = EntryFilter(
        feed_ids=tuple(request.feed_ids) or None,
        tag=optional(request, "tag"),
        category=optional(request, "category"),
        since=instant(request, "since"),
        until=instant(request, "until"),
        text=optional(request, "text"),
        include_removed=request.include_removed,
    )
    feed_id, cursor = optional(request, "feed_id"), optional(request, "cursor")

    async def ask(limit: int) -> pb.EntryPage:
        page: EntryPage
        if feed_id is None:
            page = await queries.entries(where, room.world, cursor=cursor, limit=limit)
        else:
            page = await queries.feed_entries(
                feed_id, where, room.world, cursor=cursor, limit=limit
            )
        return message_of(pb.EntryPage, page)

    return await _fitting(request, room, ask)


async def get_entry(request: pb.EntryRequest, room: Room) -> pb.Entry:
    """One entry."""
    return message_of(pb.Entry, await queries.entry(request.entry_uid, room.world))


async def revisions(request: pb.EntryRequest, room: Room) -> pb.RevisionPage:
    """Earlier states of an entry."""
    return message_of(pb.RevisionPage, await queries.revisions(request.entry_uid, room.world))


async def raw(request: pb.RawRequest, room: Room) -> AsyncGenerator[pb.RawPart, None]:
    """The bytes in parts, after a first part that says what they are."""
    match request.WhichOneof("of"):
        case "entry_uid":
            found = await queries.entry_raw(request.entry_uid, room.world)
        case "fetch_id":
            found = await queries.raw(request.fetch_id, room.world)
        case _:
            message = "name an entry or a fetch"
            raise UsageError(message)
    body = memoryview(found.body)
    yield pb.RawPart(fetch=fetch_message(found.fetch), offset=found.offset, length=len(body))
    for start in range(0, len(body), _PART_BYTES):
        yield pb.RawPart(data=bytes(body[start : start + _PART_BYTES]))


async def list_articles(request: pb.ListArticlesRequest, room: Room) -> pb.ArticlePage:
    """What was published, each once."""
    cursor = optional(request, "cursor")

    async def ask(limit: int) -> pb.ArticlePage:
        page = await queries.articles(room.world, cursor=cursor, limit=limit)
        return message_of(pb.ArticlePage, page)

    return await _fitting(request, room, ask)


# the log


async def list_events(request: pb.ListEventsRequest, room: Room) -> pb.EventPage:
    """Events after a number."""
    wanted = checked_events(request)

    async def ask(limit: int) -> pb.EventPage:
        page = await queries.events(
            room.world,
            after=wanted.after,
            types=wanted.types,
            feed_ids=wanted.feed_ids,
            limit=limit,
        )
        return events_message(page)

    return await _fitting(request, room, ask)


# addresses


async def canonicalize(request: pb.CanonicalizeRequest, room: Room) -> pb.CanonicalizeReply:
    """The one right address of a feed."""
    wish = read_wish(request, CanonicalWish)
    return canonical_message(await subscriptions.canonicalize(wish.url, room.world, room.desk))


async def _fitting(
    request: Any,  # noqa: ANN401  # any message with a limit
    room: Room,
    ask: Callable[[int], Awaitable[P]],
) -> P:
    """A page that clients accept: asked for again with fewer items while it is too large.

    Keyset cursors make that safe: the shorter page says itself where it ends.
    """
    most = room.world.config.grpc.page_bytes
    limit = queries.clamped(optional(request, "limit"))
    while True:
        page = await ask(limit)
        size, count = page.ByteSize(), len(page.items)
        if size <= most or count <= 1:
            return page
        limit = max(1, min(count // 2, count * most // size))


METHODS: Final[Methods] = {
    "Feeds/List": Method("read", list_feeds),
    "Feeds/Get": Method("read", get_feed),
    "Feeds/Add": Method("write", add_feed),
    "Feeds/Change": Method("write", change_feed),
    "Feeds/Remove": Method("write", remove_feed),
    "Feeds/Refetch": Method("write", refetch),
    "Feeds/Schedule": Method("read", schedule),
    "Feeds/Health": Method("read", health),
    "Entries/List": Method("read", list_entries),
    "Entries/Get": Method("read", get_entry),
    "Entries/Revisions": Method("read", revisions),
    "Entries/Raw": Method("read", raw),
    "Articles/List": Method("read", list_articles),
    "Events/List": Method("read", list_events),
    "Events/Watch": Method("read", watch_events),
    "Addresses/Canonicalize": Method("write", canonicalize),
}
