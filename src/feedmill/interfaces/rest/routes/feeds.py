"""Routes /feeds: subscriptions, their schedule and their health."""
# Tested in tests/integration/interfaces/rest/

from functools import partial
from typing import Annotated

from litestar import Response
from litestar.di import Provide
from msgspec.structs import replace

from feedmill.engine.service import documents, figures, full_texts, jobs, queries, subscriptions
from feedmill.engine.service.simulate import DEFAULT_DAYS, simulate_store
from feedmill.interfaces.rest import parameters
from feedmill.interfaces.rest.responses import (
    ListAnswer,
    json_response,
    list_answer,
    list_response,
    read_json,
)
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.derived.document_diff import FetchDiff
from feedmill.publish import shapes
from feedmill.publish.figure_shapes import FeedFigures, SimulationShape

routes = Routes("/feeds", "feeds")


@routes.get("/", "read", "bad-cursor", gives=shapes.FeedPage, lines=True)
async def list_feeds(
    request: AnyRequest,
    tag: parameters.TagIs = None,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
) -> ListAnswer:
    """List subscriptions in the order in which they were added."""
    ask = partial(queries.list_feeds, services_of(request), tag=tag, limit=limit)
    return await list_response(request, ask, cursor, keep=True)


@routes.post(
    "/",
    "write",
    "bad-address invalid-body several-feeds no-feed-found",
    gives=shapes.AddedFeed,
    body=shapes.FeedWish,
    status=201,
)
async def add_feed(request: AnyRequest) -> Response[bytes]:
    """Subscribe to a feed; 200 when it already exists."""
    wish = await read_json(request, shapes.FeedWish)
    added = await subscriptions.add_feed(
        wish, services_of(request), app_state_of(request).subscriber
    )
    place = {"Location": f"/feeds/{added.id}"}
    return json_response(request, added, status=201 if added.created else 200, headers=place)


@routes.get("/{feed_id:str}/backfill", "read", "not-found", conditional=False)
async def get_backfill(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.BackfillShape:
    """Get how far the walk through the feed's archive has come, or where it would begin."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    return await jobs.backfill_status(feed, services)


@routes.post("/{feed_id:str}/backfill", "write", "not-found", status=202)
async def start_backfill(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    pages: Annotated[
        int | None, parameters.query("Read at most so many pages.", ge=1, le=100_000)
    ] = None,
) -> shapes.BackfillShape:
    """Read the archive of a feed in the background; one that has ended begins anew."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    return await jobs.start_backfill(feed, services, pages=pages)


@routes.delete("/{feed_id:str}/backfill", "write", "not-found conflict", status=200)
async def cancel_backfill(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.BackfillShape:
    """Cancel the walk through a feed's archive; stored entries stay."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    return await jobs.cancel_backfill(feed, services)


@routes.get("/{feed_id:str}", "read", "not-found")
async def get_feed(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.FeedDetail:
    """Get one feed."""
    return await queries.get_feed(feed_id, services_of(request))


@routes.patch("/{feed_id:str}", "write", "not-found invalid-body", body=shapes.FeedChange)
async def change_feed(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.FeedDetail:
    """Change a feed: omitted fields stay, null restores the default."""
    change = await read_json(request, shapes.FeedChange)
    return await queries.change_feed(feed_id, change, services_of(request))


@routes.delete("/{feed_id:str}", "write", "not-found", status=204)
async def remove_feed(request: AnyRequest, feed_id: parameters.FeedId) -> None:
    """Delete a subscription and its entries."""
    await queries.remove_feed(feed_id, services_of(request))


@routes.post("/{feed_id:str}/refetch", "write", "not-found paused", status=202)
async def refetch_feed(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.Refetch:
    """Schedule a feed for polling now, within the rate limit of its host."""
    return await queries.refetch(feed_id, services_of(request))


@routes.get(
    "/{feed_id:str}/entries",
    "read",
    "not-found bad-cursor bad-parameter search-off",
    gives=shapes.EntryPage,
    lines=True,
    dependencies={"where": Provide(parameters.entry_filter_of_query, sync_to_thread=False)},
)
async def list_feed_entries(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    where: parameters.QueryFilter,
    cursor: parameters.Cursor = None,
    limit: parameters.Limit = None,
    full_text: parameters.FullTextQuery = False,
) -> ListAnswer:
    """List entries of one feed, newest arrivals first."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    where = replace(where, feed_id=feed.id)
    ask = full_texts.entries_with_full_text if full_text else queries.entry_texts
    asked = partial(ask, where, services, limit=limit)
    return await list_response(request, asked, cursor, keep=True)


@routes.get("/{feed_id:str}/schedule", "read", "not-found", gives=shapes.DecisionPage, lines=True)
async def get_schedule(
    request: AnyRequest, feed_id: parameters.FeedId, limit: parameters.Limit = None
) -> ListAnswer:
    """List schedule decisions of the feed, newest first."""
    return list_answer(request, await queries.schedule(feed_id, services_of(request), limit=limit))


@routes.get("/{feed_id:str}/simulation", "read", "not-found bad-parameter")
async def simulate_feed(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    policy: parameters.PolicyQuery = None,
    settings: parameters.SettingsQuery = None,
    days: parameters.DaysQuery = DEFAULT_DAYS,
) -> SimulationShape:
    """Replay the recorded past of the feed under another scheduling policy; no request is sent."""
    services = services_of(request)
    feed = await queries.require_feed(feed_id, services)
    config = parameters.candidate_policy(services.config.schedule, policy, settings)
    done = await simulate_store(services, config, feeds=(feed,), days=days)
    return done.shape


@routes.get("/{feed_id:str}/stats", "read", "not-found bad-parameter")
async def get_feed_stats(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    since: parameters.RangeSince = None,
    until: parameters.RangeUntil = None,
    granularity: parameters.GranularityQuery = "day",
) -> FeedFigures:
    """Figures of one feed by the hour or day: polls, failures, bytes, latency, lag."""
    return await figures.feed_figures(
        feed_id,
        services_of(request),
        since=parameters.moment(since, "since"),
        until=parameters.moment(until, "until"),
        granularity=granularity,
    )


@routes.get("/{feed_id:str}/health", "read", "not-found")
async def get_health(request: AnyRequest, feed_id: parameters.FeedId) -> shapes.HealthShape:
    """Get the health of the feed: problem, since when, attempts, next poll."""
    return await queries.health(feed_id, services_of(request))


@routes.get("/{feed_id:str}/diff", "read", "not-found not-kept conflict")
async def diff_documents(
    request: AnyRequest,
    feed_id: parameters.FeedId,
    before: parameters.DiffFetch = None,
    after: parameters.DiffFetch = None,
) -> FetchDiff:
    """Compare two documents of a feed, entry by entry; the last two different ones by default."""
    return await documents.diff_last_documents(
        feed_id, services_of(request), before=before, after=after
    )
