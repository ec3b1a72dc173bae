"""Routes /feeds: subscriptions, their schedule and their health."""

from litestar import Response, Router, delete, get, patch, post
from litestar.response import Stream

from feedmill.engine.service import queries, subscriptions
from feedmill.interfaces.rest.openapi import RouteDescription, route_options
from feedmill.interfaces.rest.parameters import (
    Cursor,
    FeedId,
    Limit,
    Since,
    TagIs,
    TextQuery,
    Until,
    entry_filter,
)
from feedmill.interfaces.rest.responses import ListPage, json_response, list_response, read_json
from feedmill.interfaces.rest.state import AnyRequest, app_state_of, services_of
from feedmill.publish.shapes import (
    AddedFeed,
    DecisionPage,
    EntryPage,
    FeedChange,
    FeedDetail,
    FeedPage,
    FeedWish,
    HealthShape,
    Refetch,
)

_ONE = ("not-found",)
_LIST = ("not-found", "bad-cursor", "bad-parameter")
_ENTRIES = RouteDescription(gives=EntryPage, lines=True, conditional=True, problems=_LIST)


@get(
    "/",
    operation_id="listFeeds",
    summary="List subscriptions in the order in which they were added.",
    opt=route_options(
        "read",
        RouteDescription(gives=FeedPage, lines=True, conditional=True, problems=("bad-cursor",)),
    ),
)
async def list_feeds(
    request: AnyRequest, tag: TagIs = None, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    services = services_of(request)

    async def fetch_page(after: str | None) -> ListPage:
        return await queries.list_feeds(services, tag=tag, cursor=after, limit=limit)

    return await list_response(request, fetch_page, cursor)


@post(
    "/",
    operation_id="addFeed",
    summary="Subscribe to a feed; 200 when it already exists.",
    opt=route_options(
        "write",
        RouteDescription(
            gives=AddedFeed,
            body=FeedWish,
            status=201,
            problems=("bad-address", "invalid-body", "several-feeds", "no-feed-found"),
        ),
    ),
)
async def add_feed(request: AnyRequest) -> Response[bytes]:
    wish = await read_json(request, FeedWish)
    added = await subscriptions.add_feed(
        wish, services_of(request), app_state_of(request).subscriber
    )
    place = {"Location": f"/feeds/{added.id}"}
    return json_response(request, added, status=201 if added.created else 200, headers=place)


@get(
    "/{feed_id:str}",
    operation_id="getFeed",
    summary="Get one feed.",
    opt=route_options("read", RouteDescription(gives=FeedDetail, conditional=True, problems=_ONE)),
)
async def get_feed(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    return json_response(request, await queries.get_feed(feed_id, services_of(request)))


@patch(
    "/{feed_id:str}",
    operation_id="changeFeed",
    summary="Change a feed: omitted fields stay, null restores the default.",
    opt=route_options(
        "write",
        RouteDescription(gives=FeedDetail, body=FeedChange, problems=("not-found", "invalid-body")),
    ),
)
async def change_feed(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    change = await read_json(request, FeedChange)
    return json_response(request, await queries.change_feed(feed_id, change, services_of(request)))


@delete(
    "/{feed_id:str}",
    operation_id="removeFeed",
    summary="Delete a subscription and its entries.",
    opt=route_options("write", RouteDescription(status=204, problems=_ONE)),
)
async def remove_feed(request: AnyRequest, feed_id: FeedId) -> None:
    await queries.remove_feed(feed_id, services_of(request))


@post(
    "/{feed_id:str}/refetch",
    operation_id="refetchFeed",
    summary="Schedule a feed for polling now, within the rate limit of its host.",
    opt=route_options(
        "write", RouteDescription(gives=Refetch, status=202, problems=("not-found", "paused"))
    ),
)
async def refetch(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    done = await queries.refetch(feed_id, services_of(request))
    return json_response(request, done, status=202)


@get(
    "/{feed_id:str}/entries",
    operation_id="listFeedEntries",
    summary="List entries of one feed, newest arrivals first.",
    opt=route_options("read", _ENTRIES),
)
async def list_entries(
    request: AnyRequest,
    feed_id: FeedId,
    since: Since = None,
    until: Until = None,
    text: TextQuery = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response[bytes] | Stream:
    services, where = services_of(request), entry_filter(since=since, until=until, text=text)

    async def fetch_page(after: str | None) -> ListPage:
        return await queries.feed_entry_texts(feed_id, where, services, cursor=after, limit=limit)

    return await list_response(request, fetch_page, cursor)


@get(
    "/{feed_id:str}/schedule",
    operation_id="getSchedule",
    summary="List schedule decisions of the feed, newest first.",
    opt=route_options(
        "read", RouteDescription(gives=DecisionPage, lines=True, conditional=True, problems=_ONE)
    ),
)
async def schedule(
    request: AnyRequest, feed_id: FeedId, limit: Limit = None
) -> Response[bytes] | Stream:
    services = services_of(request)

    async def fetch_page(_: str | None) -> ListPage:
        return await queries.schedule(feed_id, services, limit=limit)

    return await list_response(request, fetch_page, None)


@get(
    "/{feed_id:str}/health",
    operation_id="getHealth",
    summary="Get the health of the feed: problem, since when, attempts, next poll.",
    opt=route_options("read", RouteDescription(gives=HealthShape, conditional=True, problems=_ONE)),
)
async def health(request: AnyRequest, feed_id: FeedId) -> Response[bytes]:
    return json_response(request, await queries.health(feed_id, services_of(request)))


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
        list_entries,
        schedule,
        health,
    ],
)
