"""Routes /media: files of entries, their state, and their bytes by range."""
# Tested in tests/integration/interfaces/rest/routes/test_media.py

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Final
from urllib.parse import quote

from litestar import Response, Router, get, post
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from feedmill.engine.service.contents import media
from feedmill.interfaces.rest import responses
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import Cursor, Limit
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.media.resume import ByteRange, Unsatisfiable, read_range
from feedmill.model.derived.media import MediaItem, MediaState
from feedmill.publish.shapes import MediaPage, MediaShape

MediaId = Annotated[str, PathParameter(description="The id of a media file.")]
OfFeed = Annotated[
    str | None, QueryParameter(description="Only files of this feed.", max_length=100)
]
OfEntry = Annotated[
    str | None, QueryParameter(description="Only files of this entry.", max_length=200)
]
_BINARY: Final = "application/octet-stream"
_PLAYABLE: Final = ("audio/", "video/")
# A browser never renders an untrusted file in the origin of this server.
_HARMLESS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Accept-Ranges": "bytes",
    "Cache-Control": responses.REVALIDATE,
}


@get("/", **describe("listMedia", "read", MediaPage, "bad-cursor", lines=True, conditional=False))
async def list_media(
    request: AnyRequest,
    feed: OfFeed = None,
    entry: OfEntry = None,
    state_is: Annotated[
        MediaState | None, QueryParameter(name="state", description="Only files in this state.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response[bytes] | Stream:
    """List files of entries, newest first; with the progress of those on their way."""
    ask = partial(
        media.list_media, services_of(request), feed_id=feed, entry_uid=entry, state=state_is
    )
    return await responses.list_response(
        request, lambda after: ask(cursor=after, limit=limit), cursor
    )


@get("/{media_id:str}", **describe("getMedia", "read", MediaShape, "not-found"))
async def get_media(request: AnyRequest, media_id: MediaId) -> Response[bytes]:
    """Get one file's state."""
    return responses.json_response(request, await media.get_media(media_id, services_of(request)))


@get(
    "/{media_id:str}/file",
    **describe("getMediaFile", "read", bytes, "not-found", "not-kept", media_type=_BINARY),
)
async def get_media_file(request: AnyRequest, media_id: MediaId) -> Response[bytes] | Stream:
    """Get a stored file, or the part of it that `Range` asks for (206; 416 behind its end)."""
    services = services_of(request)
    item = await media.stored_media(media_id, services)
    size, tag = item.size_bytes or 0, f'"{item.sha256}"'
    fields = _HARMLESS | {"ETag": tag, "Content-Disposition": _disposition(item)}
    if responses.is_not_modified(request, tag, None):
        return Response(b"", status_code=304, headers=fields)
    condition = request.headers.get("if-range")
    asked = request.headers.get("range") if condition in (None, tag) else None
    chosen = read_range(asked, size)
    if isinstance(chosen, Unsatisfiable):
        nothing = fields | {"Content-Range": f"bytes */{size}"}
        return Response(b"", status_code=416, headers=nothing)
    part = chosen or ByteRange(start=0, end=size)
    fields["Content-Length"] = str(part.end - part.start)
    if chosen is not None:
        fields["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{size}"
    chunks: AsyncIterator[bytes] = media.read_media(item, services, part.start, part.end)
    return Stream(
        responses.until_revoked(request, chunks),
        status_code=206 if chosen is not None else 200,
        headers=fields,
        media_type=_served_type(item),
    )


@post(
    "/{media_id:str}/retry",
    **describe("retryMedia", "write", MediaShape, "not-found", "conflict", status=200),
)
async def retry_media(request: AnyRequest, media_id: MediaId) -> Response[bytes]:
    """Queue a download again that failed or was pruned."""
    return responses.json_response(request, await media.retry_media(media_id, services_of(request)))


def _served_type(item: MediaItem) -> str:
    kind = item.media_type or ""
    return kind if kind.startswith(_PLAYABLE) else _BINARY


def _disposition(item: MediaItem) -> str:
    name = (item.path or item.media_id).rpartition("/")[2]
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


media_routes = Router(
    "/media",
    tags=["media"],
    route_handlers=[list_media, get_media, get_media_file, retry_media],
)
