"""/import, /export.opml and /canonicalize: subscriptions from and to other programs."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import QueryParameter

from feedmill.engine.service import subscriptions
from feedmill.interfaces.rest.described import Described, TagIs, route
from feedmill.interfaces.rest.responses import (
    JSON,
    AnyRequest,
    answer,
    answer_bytes,
    check_type,
    read_body,
    read_json,
)
from feedmill.interfaces.rest.state import doorway_of, world_of
from feedmill.publish.shapes import CanonicalShape, CanonicalWish, Imported

OPML = "text/x-opml"
_LISTS = (OPML, "application/xml", "text/xml", JSON)

Tags = Annotated[
    list[str] | None,
    QueryParameter(description="Tag every imported feed; repeatable.", max_items=50),
]


@post(
    "/import",
    operation_id="importList",
    summary="Subscribe to every feed of a list: OPML, or JSON with `feeds`.",
    status_code=200,
    opt=route(
        "write",
        Described(gives=Imported, body=bytes, takes=_LISTS, problems=("bad-list", "bad-parameter")),
    ),
)
async def import_list(request: AnyRequest, tag: Tags = None) -> Response[bytes]:
    check_type(request, _LISTS)
    doorway = doorway_of(request)
    data = await read_body(request, doorway.config.import_bytes)
    done = await subscriptions.import_list(data, doorway.world, tags=tag or ())
    return answer(request, done)


@get(
    "/export.opml",
    operation_id="exportList",
    summary="All subscriptions as OPML 2.0; credentials stay here.",
    opt=route("read", Described(gives=str, media_type=OPML, conditional=True)),
)
async def export_list(request: AnyRequest, tag: TagIs = None) -> Response[bytes]:
    body = await subscriptions.export_opml(world_of(request), tag=tag)
    name = {"Content-Disposition": 'attachment; filename="feedmill.opml"'}
    return answer_bytes(request, body, OPML, headers=name)


@post(
    "/canonicalize",
    operation_id="canonicalize",
    summary="The one right address of the feed at an address, fetched and proven.",
    status_code=200,
    opt=route(
        "write",
        Described(
            gives=CanonicalShape,
            body=CanonicalWish,
            problems=("bad-address", "no-feed-found", "invalid-body"),
        ),
    ),
)
async def canonicalize(request: AnyRequest) -> Response[bytes]:
    wish = await read_json(request, CanonicalWish)
    doorway = doorway_of(request)
    found = await subscriptions.canonicalize(wish.url, doorway.world, doorway.desk)
    return answer(request, found)


list_routes = Router("/", tags=["lists"], route_handlers=[import_list, export_list, canonicalize])
