"""The gRPC methods: each calls the same service function as REST."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Final, Protocol, TypedDict, TypeVar

from msgspec import Meta

from feedmill.engine.service import cursors, jobs, queries, subscriptions
from feedmill.engine.service.contents import clusters, media
from feedmill.engine.service.feeds import backfill, hosts, push
from feedmill.engine.service.feeds.simulate import (
    DEFAULT_DAYS,
    candidate_config,
    simulate_store,
)
from feedmill.engine.service.health import figures
from feedmill.engine.service.health.service_levels import service_levels as levels
from feedmill.engine.service.health.status import status as engine_status
from feedmill.errors import SeveralFeedsError, UsageError
from feedmill.interfaces.grpc.event_stream import parse_event_request, watch_events
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.handlers import CallContext, GrpcMethod, GrpcMethods
from feedmill.interfaces.grpc.messages import (
    added_message,
    backfill_message,
    canonical_message,
    choices_message,
    convert_checked,
    decisions_message,
    events_message,
    fetch_message,
    job_message,
    jobs_message,
    message_of,
    optional_field,
    optional_instant,
    read_change,
    read_wish,
    simulation_message,
)
from feedmill.model.page import Duplicates, EntryFilter, EntryOrder
from feedmill.model.running.figures import Granularity, TopBy
from feedmill.publish.shapes import CanonicalWish, DiscoverWish, FeedChange, FeedWish
from feedmill.publish.to_shapes import fetch_shape
from feedmill.search.query import parse_query

_PART_BYTES: Final = 64 * 1024


class _Paged(Protocol):
    """A message with a list in it."""

    items: Any

    def ByteSize(self) -> int: ...  # noqa: N802  # protobuf's name


class _Granular(TypedDict):
    granularity: Granularity


class _Days(TypedDict):
    days: Annotated[int, Meta(ge=1, le=400)]


class _Ranked(TypedDict):
    by: TopBy


P = TypeVar("P", bound=_Paged)
T = TypeVar("T")


# feeds


async def list_feeds(request: pb.ListFeedsRequest, room: CallContext) -> pb.FeedPage:
    """Subscriptions in the order in which they were added."""
    tag, cursor = optional_field(request, "tag"), optional_field(request, "cursor")
    ask = partial(queries.list_feeds, room.services, tag=tag, cursor=cursor)
    return await _fitting(request, room, ask, partial(message_of, pb.FeedPage))


async def get_feed(request: pb.FeedRequest, room: CallContext) -> pb.Feed:
    """One feed."""
    return message_of(pb.Feed, await queries.get_feed(request.id, room.services))


async def add_feed(request: pb.AddFeedRequest, room: CallContext) -> pb.AddFeedReply:
    """Subscribe to an address."""
    wish = read_wish(request, FeedWish)
    try:
        return added_message(await subscriptions.add_feed(wish, room.services, room.subscriber))
    except SeveralFeedsError as several:
        return choices_message(several.choices)


async def change_feed(request: pb.ChangeFeedRequest, room: CallContext) -> pb.Feed:
    """Change a feed."""
    change = read_change(request, FeedChange)
    return message_of(pb.Feed, await queries.change_feed(request.id, change, room.services))


async def remove_feed(request: pb.FeedRequest, room: CallContext) -> pb.RemoveFeedReply:
    """Delete a subscription."""
    await queries.remove_feed(request.id, room.services)
    return pb.RemoveFeedReply()


async def refetch(request: pb.FeedRequest, room: CallContext) -> pb.RefetchReply:
    """Schedule a feed for polling now."""
    return message_of(pb.RefetchReply, await queries.refetch(request.id, room.services))


async def schedule(request: pb.ScheduleRequest, room: CallContext) -> pb.DecisionPage:
    """The last schedule decisions."""
    page = await queries.schedule(request.id, room.services, limit=optional_field(request, "limit"))
    return decisions_message(page)


async def health(request: pb.FeedRequest, room: CallContext) -> pb.FeedHealth:
    """The health of a feed."""
    return message_of(pb.FeedHealth, await queries.health(request.id, room.services))


async def feed_stats(request: pb.FeedStatsRequest, room: CallContext) -> pb.FeedFigures:
    """The figures of a feed."""
    found = await figures.feed_figures(
        request.id,
        room.services,
        since=optional_instant(request, "since"),
        until=optional_instant(request, "until"),
        granularity=convert_checked({"granularity": request.granularity or "day"}, _Granular)[
            "granularity"
        ],
    )
    return message_of(pb.FeedFigures, found)


# figures


async def total_figures(request: pb.FiguresRequest, room: CallContext) -> pb.TotalFigures:
    """The figures of all feeds."""
    found = await figures.total_figures(
        room.services,
        since=optional_instant(request, "since"),
        until=optional_instant(request, "until"),
        granularity=convert_checked({"granularity": request.granularity or "hour"}, _Granular)[
            "granularity"
        ],
    )
    return message_of(pb.TotalFigures, found)


async def top_feeds(request: pb.TopFeedsRequest, room: CallContext) -> pb.TopFeeds:
    """The feeds with the most of something."""
    found = await figures.top_feeds(
        convert_checked({"by": request.by or "new"}, _Ranked)["by"],
        room.services,
        since=optional_instant(request, "since"),
        until=optional_instant(request, "until"),
        limit=optional_field(request, "limit"),
    )
    return message_of(pb.TopFeeds, found)


async def service_levels(
    request: pb.ServiceLevelsRequest, room: CallContext
) -> pb.ServiceLevelsReply:
    """The service levels of a day."""
    found = await levels(room.services, day=optional_instant(request, "day"))
    return message_of(pb.ServiceLevelsReply, found)


async def status(_: pb.StatusRequest, room: CallContext) -> pb.StatusReply:
    """The status of the whole engine."""
    return message_of(pb.StatusReply, await engine_status(room.services))


async def simulate(request: pb.SimulateRequest, room: CallContext) -> pb.Simulation:
    """The recorded past under another scheduling policy."""
    feed_id, days = optional_field(request, "feed_id"), optional_field(request, "days")
    config = candidate_config(
        room.services.config.schedule, optional_field(request, "policy"), request.settings
    )
    found = await simulate_store(
        room.services,
        config,
        feeds=None if feed_id is None else [await queries.require_feed(feed_id, room.services)],
        days=convert_checked({"days": DEFAULT_DAYS if days is None else days}, _Days)["days"],
    )
    return simulation_message(found.shape)


# cursors


async def list_cursors(_: pb.ListCursorsRequest, room: CallContext) -> pb.CursorPage:
    """Readers of the log with how far they are behind."""
    return message_of(pb.CursorPage, await cursors.list_cursors(room.services))


async def drop_cursor(request: pb.DropCursorRequest, room: CallContext) -> pb.DropCursorReply:
    """Delete the position of a reader."""
    await cursors.drop_cursor(request.consumer, room.services)
    return pb.DropCursorReply()


# hosts


async def list_hosts(request: pb.ListHostsRequest, room: CallContext) -> pb.HostPage:
    """Hosts by name."""
    ask = partial(
        hosts.list_hosts,
        room.services,
        troubled=request.troubled,
        text=optional_field(request, "text"),
        cursor=optional_field(request, "cursor"),
    )
    return await _fitting(request, room, ask, partial(message_of, pb.HostPage))


async def get_host(request: pb.HostRequest, room: CallContext) -> pb.Host:
    """One host."""
    return message_of(pb.Host, await hosts.get_host(request.host, room.services))


# entries


async def list_entries(request: pb.ListEntriesRequest, room: CallContext) -> pb.EntryPage:
    """Entries, newest arrivals first."""
    once: Duplicates = "cluster" if request.one_per_cluster else "hide"
    asked = optional_field(request, "query")
    full_texts = request.search_full_texts
    query = None if asked is None else parse_query(asked, full_texts=full_texts)
    where = EntryFilter(
        feed_ids=tuple(request.feed_ids) or None,
        tag=optional_field(request, "tag"),
        category=optional_field(request, "category"),
        since=optional_instant(request, "since"),
        until=optional_instant(request, "until"),
        text=optional_field(request, "text"),
        include_removed=request.include_removed,
        author=optional_field(request, "author"),
        language=optional_field(request, "language"),
        has_enclosure=optional_field(request, "has_enclosure"),
        published_since=optional_instant(request, "published_since"),
        published_until=optional_instant(request, "published_until"),
        duplicates="include" if request.include_duplicates else once,
        query=query,
        order=_order(request),
        ascending=request.oldest_first,
    )
    feed_id, cursor = optional_field(request, "feed_id"), optional_field(request, "cursor")
    if feed_id is None:
        ask = partial(queries.entries, where, room.services, cursor=cursor)
    else:
        ask = partial(queries.feed_entries, feed_id, where, room.services, cursor=cursor)
    return await _fitting(request, room, ask, partial(message_of, pb.EntryPage))


def _order(request: pb.ListEntriesRequest) -> EntryOrder:
    if request.by_publication:
        return "published"
    is_ranked = request.HasField("query") and not request.by_arrival
    return "relevance" if is_ranked else "first_seen"


async def get_entry(request: pb.EntryRequest, room: CallContext) -> pb.Entry:
    """One entry."""
    return message_of(pb.Entry, await queries.entry(request.entry_uid, room.services))


async def revisions(request: pb.EntryRequest, room: CallContext) -> pb.RevisionPage:
    """Earlier revisions of an entry."""
    return message_of(pb.RevisionPage, await queries.revisions(request.entry_uid, room.services))


async def raw(request: pb.RawRequest, room: CallContext) -> AsyncGenerator[pb.RawPart, None]:
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
    yield pb.RawPart(fetch=fetch_message(fetch), offset=found.offset, length=len(body))
    for start in range(0, len(body), _PART_BYTES):
        yield pb.RawPart(data=bytes(body[start : start + _PART_BYTES]))


async def list_articles(request: pb.ListArticlesRequest, room: CallContext) -> pb.ArticlePage:
    """Articles, each once."""
    ask = partial(queries.articles, room.services, cursor=optional_field(request, "cursor"))
    return await _fitting(request, room, ask, partial(message_of, pb.ArticlePage))


# the log


async def list_events(request: pb.ListEventsRequest, room: CallContext) -> pb.EventPage:
    """Events after a sequence number."""
    wanted = parse_event_request(request)
    ask = partial(
        queries.events,
        room.services,
        after=wanted.after,
        types=wanted.types,
        feed_ids=wanted.feed_ids,
    )
    return await _fitting(request, room, ask, events_message)


# archives and push


async def get_backfill(request: pb.FeedRequest, room: CallContext) -> pb.Backfill:
    """How far the archive of a feed was read."""
    feed = await queries.require_feed(request.id, room.services)
    return backfill_message(await backfill.backfill_status(feed, room.services))


async def start_backfill(request: pb.StartBackfillRequest, room: CallContext) -> pb.Backfill:
    """Read the archive of a feed in the background."""
    feed = await queries.require_feed(request.id, room.services)
    pages = optional_field(request, "pages")
    return backfill_message(await backfill.start_backfill(feed, room.services, pages=pages))


async def cancel_backfill(request: pb.FeedRequest, room: CallContext) -> pb.Backfill:
    """End the reading of an archive."""
    feed = await queries.require_feed(request.id, room.services)
    return backfill_message(await backfill.cancel_backfill(feed, room.services))


async def list_hubs(_: pb.ListHubsRequest, room: CallContext) -> pb.HubPage:
    """Hubs with what they delivered."""
    return message_of(pb.HubPage, await push.list_hubs(room.services))


async def get_push(request: pb.FeedRequest, room: CallContext) -> pb.FeedPush:
    """The subscriptions of a feed at its hubs."""
    feed = await queries.require_feed(request.id, room.services)
    return message_of(pb.FeedPush, await push.feed_push(feed, room.services))


async def subscribe_push(request: pb.FeedRequest, room: CallContext) -> pb.FeedPush:
    """Ask the hub of a feed again."""
    feed = await queries.require_feed(request.id, room.services)
    return message_of(pb.FeedPush, await push.resubscribe(feed, room.services))


# media and clusters


async def list_media(request: pb.ListMediaRequest, room: CallContext) -> pb.MediaPage:
    """Files of entries, those that were wanted last first."""
    names = ("feed_id", "entry_uid", "state", "cursor")
    given = {name: optional_field(request, name) for name in names}
    ask = partial(media.list_media, room.services, **given)
    return await _fitting(request, room, ask, partial(message_of, pb.MediaPage))


async def get_media(request: pb.MediaRequest, room: CallContext) -> pb.MediaFile:
    """One file."""
    return message_of(pb.MediaFile, await media.get_media(request.media_id, room.services))


async def retry_media(request: pb.MediaRequest, room: CallContext) -> pb.MediaFile:
    """Queue a download again."""
    return message_of(pb.MediaFile, await media.retry_media(request.media_id, room.services))


async def list_clusters(request: pb.ListClustersRequest, room: CallContext) -> pb.ClusterPage:
    """Stories that several feeds tell."""
    ask = partial(
        clusters.list_clusters,
        room.services,
        min_feeds=request.min_feeds or 2,
        cursor=optional_field(request, "cursor"),
    )
    return await _fitting(request, room, ask, partial(message_of, pb.ClusterPage))


async def get_cluster(request: pb.ClusterRequest, room: CallContext) -> pb.Cluster:
    """One story with its entries."""
    return message_of(pb.Cluster, await clusters.get_cluster(request.cluster_id, room.services))


# background jobs


async def list_jobs(request: pb.ListJobsRequest, room: CallContext) -> pb.JobPage:
    """Background jobs, newest first."""
    given = {name: optional_field(request, name) for name in ("kind", "state", "feed_id", "cursor")}
    return await _fitting(
        request, room, partial(jobs.list_jobs, room.services, **given), jobs_message
    )


async def get_job(request: pb.JobRequest, room: CallContext) -> pb.Job:
    """One job."""
    return job_message(await jobs.get_job(request.id, room.services))


async def cancel_job(request: pb.JobRequest, room: CallContext) -> pb.Job:
    """Cancel a job."""
    return job_message(await jobs.cancel_job(request.id, room.services))


async def retry_job(request: pb.JobRequest, room: CallContext) -> pb.Job:
    """Queue a job again that has ended."""
    return job_message(await jobs.retry_job(request.id, room.services))


# addresses


async def canonicalize(request: pb.CanonicalizeRequest, room: CallContext) -> pb.CanonicalizeReply:
    """The canonical address of a feed."""
    wish = read_wish(request, CanonicalWish)
    return canonical_message(
        await subscriptions.canonicalize(wish.url, room.services, room.subscriber)
    )


async def discover(request: pb.DiscoverRequest, room: CallContext) -> pb.DiscoverReply:
    """The feeds that an address leads to."""
    wish = read_wish(request, DiscoverWish)
    return message_of(
        pb.DiscoverReply, await subscriptions.discover(wish, room.services, room.subscriber)
    )


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
    "Feeds/List": GrpcMethod("read", list_feeds),
    "Feeds/Get": GrpcMethod("read", get_feed),
    "Feeds/Add": GrpcMethod("write", add_feed),
    "Feeds/Change": GrpcMethod("write", change_feed),
    "Feeds/Remove": GrpcMethod("write", remove_feed),
    "Feeds/Refetch": GrpcMethod("write", refetch),
    "Feeds/Schedule": GrpcMethod("read", schedule),
    "Feeds/Health": GrpcMethod("read", health),
    "Feeds/Stats": GrpcMethod("read", feed_stats),
    "Feeds/GetBackfill": GrpcMethod("read", get_backfill),
    "Feeds/StartBackfill": GrpcMethod("write", start_backfill),
    "Feeds/CancelBackfill": GrpcMethod("write", cancel_backfill),
    "Push/ListHubs": GrpcMethod("read", list_hubs),
    "Push/Get": GrpcMethod("read", get_push),
    "Push/Subscribe": GrpcMethod("write", subscribe_push),
    "Figures/Get": GrpcMethod("read", total_figures),
    "Figures/Top": GrpcMethod("read", top_feeds),
    "Figures/ServiceLevels": GrpcMethod("read", service_levels),
    "Figures/Status": GrpcMethod("read", status),
    "Figures/Simulate": GrpcMethod("read", simulate),
    "Hosts/List": GrpcMethod("read", list_hosts),
    "Hosts/Get": GrpcMethod("read", get_host),
    "Entries/List": GrpcMethod("read", list_entries),
    "Entries/Get": GrpcMethod("read", get_entry),
    "Entries/Revisions": GrpcMethod("read", revisions),
    "Entries/Raw": GrpcMethod("read", raw),
    "Articles/List": GrpcMethod("read", list_articles),
    "Events/List": GrpcMethod("read", list_events),
    "Events/Watch": GrpcMethod("read", watch_events),
    "Cursors/List": GrpcMethod("admin", list_cursors),
    "Cursors/Drop": GrpcMethod("admin", drop_cursor),
    "Jobs/List": GrpcMethod("read", list_jobs),
    "Jobs/Get": GrpcMethod("read", get_job),
    "Jobs/Cancel": GrpcMethod("write", cancel_job),
    "Jobs/Retry": GrpcMethod("write", retry_job),
    "Media/List": GrpcMethod("read", list_media),
    "Media/Get": GrpcMethod("read", get_media),
    "Media/Retry": GrpcMethod("write", retry_media),
    "Clusters/List": GrpcMethod("read", list_clusters),
    "Clusters/Get": GrpcMethod("read", get_cluster),
    "Addresses/Canonicalize": GrpcMethod("write", canonicalize),
    "Addresses/Discover": GrpcMethod("write", discover),
}
