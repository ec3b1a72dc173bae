"""The gRPC methods: each calls the same service function as REST."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Final, Protocol, TypeVar

from msgspec import Meta, structs

from feedmill.engine.service import (
    figures,
    full_texts,
    hosts,
    jobs,
    queries,
    simulate,
    subscriptions,
)
from feedmill.engine.service.status import service_levels as levels
from feedmill.engine.service.status import status
from feedmill.errors import SeveralFeedsError, UsageError
from feedmill.interfaces.grpc.event_stream import parse_event_request, watch_events
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.handlers import CallContext, GrpcMethod, GrpcMethods, UnaryHandler
from feedmill.interfaces.grpc.messages import (
    added_message,
    canonical_message,
    choices_message,
    convert_checked,
    message_of,
    optional_field,
    read_change,
    read_wish,
)
from feedmill.model.base import Value
from feedmill.model.page import Duplicates, EntryFilter, EntryOrder
from feedmill.model.running.figures import Granularity, TopBy
from feedmill.publish import shapes
from feedmill.publish.figure_shapes import (
    SimulationShape,
    TopFeeds,
)
from feedmill.publish.to_shapes import fetch_shape
from feedmill.search.query import parse_query

_PART_BYTES: Final = 64 * 1024
_SPAN: Final = ("since", "until")


class _Paged(Protocol):
    """A message with a list in it."""

    items: Any

    def ByteSize(self) -> int: ...  # noqa: N802  # protobuf's name


class _Chosen(Value):
    """Fields that have few values, validated by the rules of REST."""

    granularity: Granularity = "day"
    by: TopBy = "new"
    days: Annotated[int, Meta(ge=1, le=400)] = simulate.DEFAULT_DAYS


P = TypeVar("P", bound=_Paged)
T = TypeVar("T")


def _ask(
    service: Callable[..., Awaitable[Any]],
    *names: str,
    options: tuple[str, ...] = (),
    chosen: Mapping[str, object] = MappingProxyType({}),
) -> UnaryHandler:
    """Call a service with the values of these fields of the request, the options that are set, and fields of `_Chosen`.

    A chosen field that is empty has the value that is given here.
    """

    async def answer(request: Any, room: CallContext) -> Any:  # noqa: ANN401  # any message, any shape
        fields = [getattr(request, name) for name in names]
        few = {name: _chosen(request, name, usual) for name, usual in chosen.items()}
        return await service(*fields, room.services, **_given(request, *options), **few)

    return answer


def _ask_feed(service: Callable[..., Awaitable[Any]], *options: str) -> UnaryHandler:
    """Call a service with the feed whose id the request has, and the options that are set."""

    async def answer(request: Any, room: CallContext) -> Any:  # noqa: ANN401
        feed = await queries.require_feed(request.id, room.services)
        return await service(feed, room.services, **_given(request, *options))

    return answer


def _list(
    service: Callable[..., Awaitable[Any]], page: type[_Paged], *options: str
) -> UnaryHandler:
    """Call a service that lists, with the options that are set."""

    async def answer(request: Any, room: CallContext) -> Any:  # noqa: ANN401
        asked = partial(service, room.services, **_given(request, *options))
        return await _fitting(request, room, asked, partial(message_of, page))

    return answer


def _given(request: Any, *names: str) -> dict[str, Any]:  # noqa: ANN401
    return {name: optional_field(request, name) for name in names}


def _chosen(request: Any, name: str, usual: object) -> Any:  # noqa: ANN401
    """A field of `_Chosen`; an empty one has its usual value."""
    value = optional_field(request, name) or usual
    return getattr(convert_checked({name: value}, _Chosen), name)


async def _add_feed(request: pb.AddFeedRequest, room: CallContext) -> pb.AddFeedReply:
    wish = read_wish(request, shapes.FeedWish)
    try:
        return added_message(await subscriptions.add_feed(wish, room.services, room.subscriber))
    except SeveralFeedsError as several:
        return choices_message(several.choices)


async def _change_feed(request: pb.ChangeFeedRequest, room: CallContext) -> shapes.FeedDetail:
    return await queries.change_feed(
        request.id, read_change(request, shapes.FeedChange), room.services
    )


async def _top_feeds(request: pb.TopFeedsRequest, room: CallContext) -> TopFeeds:
    asked = _given(request, "since", "until", "limit")
    return await figures.top_feeds(_chosen(request, "by", "new"), room.services, **asked)


async def _simulate(request: pb.SimulateRequest, room: CallContext) -> SimulationShape:
    feed_id, days = optional_field(request, "feed_id"), optional_field(request, "days")
    config = simulate.candidate_config(
        room.services.config.schedule, optional_field(request, "policy"), request.settings
    )
    found = await simulate.simulate_store(
        room.services,
        config,
        feeds=None if feed_id is None else [await queries.require_feed(feed_id, room.services)],
        days=convert_checked({} if days is None else {"days": days}, _Chosen).days,
    )
    return found.shape


async def _list_entries(request: pb.ListEntriesRequest, room: CallContext) -> pb.EntryPage:
    _refuse_both(request, "include_duplicates", "one_per_cluster")
    _refuse_both(request, "by_publication", "by_arrival")
    once: Duplicates = "cluster" if request.one_per_cluster else "hide"
    asked = optional_field(request, "query")
    full_texts = request.search_full_texts
    where = EntryFilter(
        **_given(request, "tag", "category", "since", "until", "text", "author", "language"),
        **_given(request, "include_removed", "has_enclosure", "published_since", "published_until"),
        feed_ids=tuple(request.feed_ids) or None,
        duplicates="include" if request.include_duplicates else once,
        query=None if asked is None else parse_query(asked, full_texts=full_texts),
        order=_order(request),
        ascending=request.oldest_first,
    )
    feed_id, cursor = optional_field(request, "feed_id"), optional_field(request, "cursor")
    if feed_id is not None:
        feed = await queries.require_feed(feed_id, room.services)
        where = structs.replace(where, feed_id=feed.id)
    ask = partial(queries.entries, where, room.services, cursor=cursor)
    return await _fitting(request, room, ask, partial(message_of, pb.EntryPage))


def _refuse_both(request: pb.ListEntriesRequest, one: str, other: str) -> None:
    if getattr(request, one) and getattr(request, other):
        message = f"{one} and {other} exclude each other"
        raise UsageError(message)


def _order(request: pb.ListEntriesRequest) -> EntryOrder:
    if request.by_publication:
        return "published"
    is_ranked = request.HasField("query") and not request.by_arrival
    return "relevance" if is_ranked else "first_seen"


async def _raw(request: pb.RawRequest, room: CallContext) -> AsyncGenerator[pb.RawPart, None]:
    """Raw bytes in parts; the first part describes them."""
    match request.WhichOneof("of"):
        case "entry_uid":
            found = await queries.entry_raw(request.entry_uid, room.services)
        case "fetch_id":
            found = await queries.raw(request.fetch_id, room.services)
        case _:
            message = "give an entry_uid or a fetch_id"
            raise UsageError(message)
    body = memoryview(found.body)
    fetch = fetch_shape(found.fetch, room.services.config.blobs.url)
    yield pb.RawPart(fetch=message_of(pb.Fetch, fetch), offset=found.offset, length=len(body))
    for start in range(0, len(body), _PART_BYTES):
        yield pb.RawPart(data=bytes(body[start : start + _PART_BYTES]))


async def _list_events(request: pb.ListEventsRequest, room: CallContext) -> pb.EventPage:
    wanted = parse_event_request(request)
    await queries.check_position(room.services, wanted.after)
    ask = partial(queries.events, room.services, **structs.asdict(wanted))
    return await _fitting(request, room, ask, partial(message_of, pb.EventPage))


async def _list_clusters(request: pb.ListClustersRequest, room: CallContext) -> pb.ClusterPage:
    asked = _given(request, "cursor") | {"min_feeds": request.min_feeds or 2}
    ask = partial(queries.list_clusters, room.services, **asked)
    return await _fitting(request, room, ask, partial(message_of, pb.ClusterPage))


async def _canonicalize(request: pb.CanonicalizeRequest, room: CallContext) -> pb.CanonicalizeReply:
    wish = read_wish(request, shapes.CanonicalWish)
    return canonical_message(
        await subscriptions.canonicalize(wish.url, room.services, room.subscriber)
    )


async def _discover(request: pb.DiscoverRequest, room: CallContext) -> shapes.DiscoveredShape:
    wish = read_wish(request, shapes.DiscoverWish)
    return await subscriptions.discover(wish, room.services, room.subscriber)


async def _fitting(
    request: Any,  # noqa: ANN401  # any message with a limit
    room: CallContext,
    ask: Callable[..., Awaitable[T]],
    convert: Callable[[T], P],
) -> P:
    """A page within the message size limit: read again with fewer items while too large.

    Keyset cursors make that safe: the shorter page says itself where it ends.
    """
    most = room.services.config.grpc.page_bytes
    limit = queries.clamp_limit(optional_field(request, "limit"))
    while True:
        page = convert(await ask(limit=limit))
        size, count = page.ByteSize(), len(page.items)
        if size <= most or count <= 1:
            return page
        limit = max(1, min(count // 2, count * most // size))


GRPC_METHODS: Final[GrpcMethods] = {
    "Feeds/List": GrpcMethod("read", _list(queries.list_feeds, pb.FeedPage, "tag", "cursor")),
    "Feeds/Get": GrpcMethod("read", _ask(queries.get_feed, "id")),
    "Feeds/Add": GrpcMethod("write", _add_feed),
    "Feeds/Change": GrpcMethod("write", _change_feed),
    "Feeds/Remove": GrpcMethod("write", _ask(queries.remove_feed, "id")),
    "Feeds/Refetch": GrpcMethod("write", _ask(queries.refetch, "id")),
    "Feeds/Schedule": GrpcMethod("read", _ask(queries.schedule, "id", options=("limit",))),
    "Feeds/Health": GrpcMethod("read", _ask(queries.health, "id")),
    "Feeds/Stats": GrpcMethod(
        "read", _ask(figures.feed_figures, "id", options=_SPAN, chosen={"granularity": "day"})
    ),
    "Feeds/GetBackfill": GrpcMethod("read", _ask_feed(jobs.backfill_status)),
    "Feeds/StartBackfill": GrpcMethod("write", _ask_feed(jobs.start_backfill, "pages")),
    "Feeds/CancelBackfill": GrpcMethod("write", _ask_feed(jobs.cancel_backfill)),
    "Push/ListHubs": GrpcMethod("read", _ask(hosts.list_hubs)),
    "Push/Get": GrpcMethod("read", _ask_feed(hosts.feed_push)),
    "Push/Subscribe": GrpcMethod("write", _ask_feed(hosts.resubscribe)),
    "Figures/Get": GrpcMethod(
        "read", _ask(figures.total_figures, options=_SPAN, chosen={"granularity": "hour"})
    ),
    "Figures/Top": GrpcMethod("read", _top_feeds),
    "Figures/ServiceLevels": GrpcMethod("read", _ask(levels, options=("day",))),
    "Figures/Status": GrpcMethod("read", _ask(status)),
    "Figures/Simulate": GrpcMethod("read", _simulate),
    "Hosts/List": GrpcMethod(
        "read",
        _list(hosts.list_hosts, pb.HostPage, "troubled", "text", "cursor"),
    ),
    "Hosts/Get": GrpcMethod("read", _ask(hosts.get_host, "host")),
    "Entries/List": GrpcMethod("read", _list_entries),
    "Entries/Get": GrpcMethod("read", _ask(queries.entry, "entry_uid")),
    "Entries/Revisions": GrpcMethod("read", _ask(queries.revisions, "entry_uid")),
    "Entries/Raw": GrpcMethod("read", _raw),
    "Articles/List": GrpcMethod("read", _list(queries.articles, pb.ArticlePage, "cursor")),
    "Events/List": GrpcMethod("read", _list_events),
    "Events/Watch": GrpcMethod("read", watch_events),
    "Cursors/List": GrpcMethod("admin", _ask(queries.list_cursors)),
    "Cursors/Drop": GrpcMethod("admin", _ask(queries.drop_cursor, "consumer")),
    "Jobs/List": GrpcMethod(
        "read",
        _list(jobs.list_jobs, pb.JobPage, "kind", "state", "feed_id", "cursor"),
    ),
    "Jobs/Get": GrpcMethod("read", _ask(jobs.get_job, "id")),
    "Jobs/Cancel": GrpcMethod("write", _ask(jobs.cancel_job, "id")),
    "Jobs/Retry": GrpcMethod("write", _ask(jobs.retry_job, "id")),
    "Media/List": GrpcMethod(
        "read",
        _list(
            full_texts.list_media,
            pb.MediaPage,
            "feed_id",
            "entry_uid",
            "state",
            "cursor",
        ),
    ),
    "Media/Get": GrpcMethod("read", _ask(full_texts.get_media, "media_id")),
    "Media/Retry": GrpcMethod("write", _ask(full_texts.retry_media, "media_id")),
    "Clusters/List": GrpcMethod("read", _list_clusters),
    "Clusters/Get": GrpcMethod("read", _ask(queries.get_cluster, "cluster_id")),
    "Addresses/Canonicalize": GrpcMethod("write", _canonicalize),
    "Addresses/Discover": GrpcMethod("write", _discover),
}
