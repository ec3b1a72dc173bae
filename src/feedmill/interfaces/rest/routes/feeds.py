"""Routes /feeds: subscriptions, their schedule and their health."""
# Tested in tests/integration/interfaces/rest/

from typing import Annotated

from litestar import Response, Router, delete, get, patch, post
from litestar.di import Provide
from litestar.params import QueryParameter
from litestar.response import Stream
from msgspec.structs import replace

from feedmill.engine.service import queries, subscriptions
from feedmill.engine.service.contents import documents, full_texts
from feedmill.engine.service.feeds import backfill
from feedmill.engine.service.feeds.simulate import DEFAULT_DAYS, simulate_store
from feedmill.engine.service.health import figures
from feedmill.interfaces.rest import parameters
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.responses import json_response, list_response, read_json
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.derived.document_diff import FetchDiff
from feedmill.publish import shapes
from feedmill.publish.figure_shapes import FeedFigures, SimulationShape


@get("/", **describe("listFeeds", "read", shapes.FeedPage, "bad-cursor", lines=True))
async def list_feeds(
    request: AnyRequest,
    tag: parameters.TagIs = None,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
) -> Response[bytes] | Stream:
    """List subscriptions in the order in which they were added."""
    services = services_of(request)
    return await list_response(
        request,
        lambda after: queries.list_feeds(services, tag=tag, cursor=after, limit=limit),
        cursor,
        keep=True,
    )


@post(
    "/",
    **describe(
        "addFeed",
        "write",
        shapes.AddedFeed,
        "bad-address",
        "invalid-body",
        "several-feeds",
        "no-feed-found",
        body=shapes.FeedWish,
        status=201,
    ),
)
async def add_feed(request: AnyRequest) -> Response[bytes]:
    """Subscribe to a feed; 200 when it already exists."""
    wish = await read_json(request, shapes.FeedWish)
    added = await subscriptions.add_feed(
        wish, services_of(request), app_state_of(request).subscriber
    )
    place = {"Location": f"/feeds/{added.id}"}
    return json_response(request, added, status=201 if added.created else 200, headers=place)


@get(
    "/{feed_id:str}/backfill",
    **describe("getBackfill", "read", shapes.BackfillShape, "not-found", conditional=False),
)
async def get_backfill(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Get how far the walk through the feed's archive has come, or where it would begin."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    return json_response(request, await backfill.backfill_status(feed, services))


@post(
    "/{feed_id:str}/backfill",
    **describe("startBackfill", "write", shapes.BackfillShape, "not-found", status=202),
)
async def start_backfill(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    pages: Annotated[
        int | None, QueryParameter(description="Read at most so many pages.", ge=1, le=100_000)
    ] = None,
) -> Response[bytes]:
    """Read the archive of a feed in the background; one that has ended begins anew."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    done = await backfill.start_backfill(feed, services, pages=pages)
    return json_response(request, done, status=202)


@delete(
    "/{feed_id:str}/backfill",
    status_code=200,
    **describe(
        "cancelBackfill", "write", shapes.BackfillShape, "not-found", "conflict", status=200
    ),
)
async def cancel_backfill(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Cancel the walk through a feed's archive; stored entries stay."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    return json_response(request, await backfill.cancel_backfill(feed, services))


@get("/{feed_id:str}", **describe("getFeed", "read", shapes.FeedDetail, "not-found"))
async def get_feed(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Get one feed."""
    return json_response(request, await queries.get_feed(feed_id, services_of(request)))


@patch(
    "/{feed_id:str}",
    **describe(
        "changeFeed",
        "write",
        shapes.FeedDetail,
        "not-found",
        "invalid-body",
        body=shapes.FeedChange,
    ),
)
async def change_feed(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Change a feed: omitted fields stay, null restores the default."""
    change = await read_json(request, shapes.FeedChange)
    return json_response(request, await queries.change_feed(feed_id, change, services_of(request)))


@delete("/{feed_id:str}", **describe("removeFeed", "write", None, "not-found", status=204))
async def remove_feed(request: AnyRequest, feed_id: parameters.FeedId) -> None:
    """Delete a subscription and its entries."""
    await queries.remove_feed(feed_id, services_of(request))


@post(
    "/{feed_id:str}/refetch",
    **describe("refetchFeed", "write", shapes.Refetch, "not-found", "paused", status=202),
)
async def refetch(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Schedule a feed for polling now, within the rate limit of its host."""
    done = await queries.refetch(feed_id, services_of(request))
    return json_response(request, done, status=202)


@get(
    "/{feed_id:str}/entries",
    dependencies={"where": Provide(parameters.entry_filter_of_query, sync_to_thread=False)},
    **describe(
        "listFeedEntries",
        "read",
        shapes.EntryPage,
        "not-found",
        "bad-cursor",
        "bad-parameter",
        "search-off",
        lines=True,
    ),
)
async def list_entries(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    where: parameters.QueryFilter,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
    full_text: parameters.FullTextQuery = False,
) -> Response[bytes] | Stream:
    """List entries of one feed, newest arrivals first."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    where = replace(where, feed_id=feed.id)
    ask = full_texts.entries_with_full_text if full_text else queries.entry_texts
    return await list_response(
        request, lambda after: ask(where, services, cursor=after, limit=limit), cursor, keep=True
    )


@get(
    "/{feed_id:str}/schedule",
    **describe("getSchedule", "read", shapes.DecisionPage, "not-found", lines=True),
)
async def schedule(
    request: AnyRequest, feed_id: parameters.FeedId, limit: parameters.Limit = None
) -> Response[bytes] | Stream:
    """List schedule decisions of the feed, newest first."""
    services = services_of(request)
    return await list_response(request, lambda _: queries.schedule(feed_id, services, limit=limit))


@get(
    "/{feed_id:str}/simulation",
    **describe("simulateFeed", "read", SimulationShape, "not-found", "bad-parameter"),
)
async def simulation(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    policy: parameters.PolicyQuery = None,
    settings: parameters.SettingsQuery = None,
    days: parameters.DaysQuery = DEFAULT_DAYS,
) -> Response[bytes]:
    """Replay the recorded past of the feed under another scheduling policy; no request is sent."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    config = parameters.candidate_policy(services.config.schedule, policy, settings)
    done = await simulate_store(services, config, feeds=(feed,), days=days)
    return json_response(request, done.shape)


@get(
    "/{feed_id:str}/stats",
    **describe("getFeedStats", "read", FeedFigures, "not-found", "bad-parameter"),
)
async def stats(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    since: parameters.RangeSince = None,
    until: parameters.RangeUntil = None,
    granularity: parameters.GranularityQuery = "day",
) -> Response[bytes]:
    """Figures of one feed by the hour or day: polls, failures, bytes, latency, lag."""
    found = await figures.feed_figures(
        feed_id,
        services_of(request),
        since=parameters.moment(since, "since"),
        until=parameters.moment(until, "until"),
        granularity=granularity,
    )
    return json_response(request, found)


@get("/{feed_id:str}/health", **describe("getHealth", "read", shapes.HealthShape, "not-found"))
async def health(request: AnyRequest, feed_id: parameters.FeedId) -> Response[bytes]:
    """Get the health of the feed: problem, since when, attempts, next poll."""
    return json_response(request, await queries.health(feed_id, services_of(request)))


@get(
    "/{feed_id:str}/diff",
    **describe("diffDocuments", "read", FetchDiff, "not-found", "not-kept", "conflict"),
)
async def diff(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    before: parameters.DiffFetch = None,
    after: parameters.DiffFetch = None,
) -> Response[bytes]:
    """Compare two documents of a feed, entry by entry; the last two different ones by default."""
    found = await documents.diff_last_documents(
        feed_id, services_of(request), before=before, after=after
    )
    return json_response(request, found)


feed_routes = Router(
    "/feeds",
    tags=["feeds"],
    route_handlers=[
        list_feeds,
        add_feed,
        get_feed,
        change_feed,
        remove_feed,
        refetch,
        get_backfill,
        start_backfill,
        cancel_backfill,
        list_entries,
        schedule,
        simulation,
        stats,
        health,
        diff,
    ],
)
