"""Routes /media: files of entries, their state, and their bytes by range."""
# Tested in tests/integration/interfaces/rest/routes/test_media.py

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Final
from urllib.parse import quote

from litestar import Response
from litestar.response import Stream

from feedmill.engine.service import full_texts
from feedmill.interfaces.rest import responses
from feedmill.interfaces.rest.parameters import Cursor, Limit, path, query
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.media.resume import ByteRange, Unsatisfiable, read_range
from feedmill.model.derived.fetched import MediaItem, MediaState
from feedmill.publish.shapes import MediaPage, MediaShape

MediaId = Annotated[str, path("The id of a media file.")]
OfFeed = Annotated[str | None, query("Only files of this feed.", max_length=100)]
OfEntry = Annotated[str | None, query("Only files of this entry.", max_length=200)]
_BINARY: Final = "application/octet-stream"
_PLAYABLE: Final = ("audio/", "video/")
# A browser never renders an untrusted file in the origin of this server.
_HARMLESS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Accept-Ranges": "bytes",
    "Cache-Control": responses.REVALIDATE,
}
routes = Routes("/media", "media")


@routes.get("/", "read", "bad-cursor", gives=MediaPage, lines=True, conditional=False)
async def list_media(
    request: AnyRequest,
    feed: OfFeed = None,
    entry: OfEntry = None,
    state_is: Annotated[MediaState | None, query("Only files in this state.", name="state")] = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> responses.ListAnswer:
    """List files of entries, newest first; with the progress of those on their way."""
    ask = partial(
        full_texts.list_media,
        services_of(request),
        feed_id=feed,
        entry_uid=entry,
        state=state_is,
        limit=limit,
    )
    return await responses.list_response(request, ask, cursor)


@routes.get("/{media_id:str}", "read", "not-found")
async def get_media(request: AnyRequest, media_id: MediaId) -> MediaShape:
    """Get one file's state."""
    return await full_texts.get_media(media_id, services_of(request))


@routes.get("/{media_id:str}/file", "read", "not-found not-kept", gives=bytes, media_type=_BINARY)
async def get_media_file(request: AnyRequest, media_id: MediaId) -> responses.ListAnswer:
    """Get a stored file, or the part of it that `Range` asks for (206; 416 behind its end)."""
    services = services_of(request)
    item = await full_texts.stored_media(media_id, services)
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
    chunks: AsyncIterator[bytes] = full_texts.read_media(item, services, part.start, part.end)
    return Stream(
        responses.until_revoked(request, chunks),
        status_code=206 if chosen is not None else 200,
        headers=fields,
        media_type=_served_type(item),
    )


@routes.post("/{media_id:str}/retry", "write", "not-found conflict", status=200)
async def retry_media(request: AnyRequest, media_id: MediaId) -> MediaShape:
    """Queue a download again that failed or was pruned."""
    return await full_texts.retry_media(media_id, services_of(request))


def _served_type(item: MediaItem) -> str:
    kind = item.media_type or ""
    return kind if kind.startswith(_PLAYABLE) else _BINARY


def _disposition(item: MediaItem) -> str:
    name = (item.path or item.media_id).rpartition("/")[2]
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
