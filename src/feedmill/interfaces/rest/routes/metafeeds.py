"""Routes of metafeeds: Atom, RSS and JSON Feed of a tag, of one feed or of any filter.

Every page links to itself, to the next and previous page and to the hub, in the document and in
`Link` (RFC 8288), and supports conditional requests. A feed reader has no field for a token: here
it may also come as the password of Basic, never in the URL. The route of our hub is here too.
"""
# That of the hub is tested in tests/integration/engine/push/test_websub_hub.py

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Annotated, Final
from urllib.parse import quote

from litestar import Response

from feedmill.engine.service.collections import Collection
from feedmill.engine.service.metafeeds import (
    MOST_ENTRIES,
    MetaFeedRequest,
    metafeed_page,
    request_subscription,
)
from feedmill.engine.service.queries import require_feed
from feedmill.errors import AccessError
from feedmill.interfaces.rest.parameters import (
    CategoryQuery,
    DuplicatesQuery,
    FeedsQuery,
    Since,
    TagIs,
    TextQuery,
    Until,
    entry_filter,
    path,
    query,
)
from feedmill.interfaces.rest.problems import RequestError, on_error
from feedmill.interfaces.rest.responses import bytes_response, last_change
from feedmill.interfaces.rest.routing import Handler, Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.base import filled
from feedmill.publish.metafeeds import FORMATS, MetaFeedFormat
from feedmill.publish.metafeeds.items import public_http_url, read_period
from feedmill.push.hub import FORM, decode_form

_FINAL: Final = "private, max-age=86400, immutable"
_CHALLENGE: Final = 'Bearer realm="feedmill", Basic realm="feedmill", charset="UTF-8"'
_CHANGE_TIMES: Final = "metafeed_change_times"
_MOST_HUB_BYTES: Final = 16_384

MetaFeedLimit = Annotated[int | None, query("Entries per page, 1 to 200. Default: 50.")]
MetaFeedCursor = Annotated[
    str | None, query("Cursor of another page, taken from the links of this one.", max_length=200)
]
MetaFeedArchive = Annotated[
    str | None,
    query(
        "An archive document (RFC 5005 section 4) instead of a page: the entries that came in"
        " during a year, month, day, hour or minute (UTC), such as `2026-11` or `2026-11-16T09`. Taken from the"
        " `prev-archive` link of the current document.",
        max_length=16,
    ),
]
FullTextContent = Annotated[
    bool, query("The full text of an entry as its content, where there is one.")
]
MetaFeedTag = Annotated[str, path("Tag of the feeds.", max_length=100)]
MetaFeedFeedId = Annotated[str, path("The id of a feed.")]


async def _serve(request: AnyRequest, wanted: MetaFeedRequest) -> Response[bytes]:
    """The page, or 304 when the reader's copy is current."""
    services = services_of(request)
    page = await metafeed_page(wanted, _base(request), services)
    body = page.body
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    modified = last_change(request, _CHANGE_TIMES, page.feed.self_url, tag)
    headers = {
        "Link": page.links,
        "Cache-Control": _FINAL
        if page.is_final
        else f"private, max-age={services.config.metafeed.max_age_sec}",
        "Vary": "Authorization",
    }
    return bytes_response(
        request, body, page.content_type, headers=headers, modified=modified, etag=tag
    )


def _base(request: AnyRequest) -> str:
    """Where our metafeeds are served; problem 421 for a Host that no address can have."""
    config = services_of(request).config.metafeed
    base = public_http_url(config.base_url or str(request.base_url))
    if base is None:
        raise RequestError(code="bad-host")
    return base.rstrip("/")


def _collection(kind: MetaFeedFormat) -> Handler:
    async def collection_feed(
        request: AnyRequest,
        feed: FeedsQuery = None,
        tag: TagIs = None,
        category: CategoryQuery = None,
        since: Since = None,
        until: Until = None,
        q: TextQuery = None,
        cursor: MetaFeedCursor = None,
        limit: MetaFeedLimit = None,
        full_text: FullTextContent = False,
        archive: MetaFeedArchive = None,
        duplicates: DuplicatesQuery = "hide",
    ) -> Response[bytes]:
        feeds = None if feed is None else list(dict.fromkeys(feed))
        where = entry_filter(
            feeds=feeds, tag=tag, category=category, since=since, until=until, text=q
        )
        once = None if duplicates == "hide" else duplicates
        query = filled(Collection, where, full_text=full_text or None, duplicates=once)
        asked = (
            *(("feed", one) for one in feeds or ()),
            ("tag", tag),
            ("category", category),
            ("since", since),
            ("until", until),
            ("q", q),
        )
        path = f"/collections/feed.{kind}"
        wanted = _wanted(request, kind, query, path, limit, cursor, archive, asked)
        return await _serve(request, wanted)

    return collection_feed


def _of_feed(kind: MetaFeedFormat) -> Handler:
    async def feed_feed(
        request: AnyRequest,
        feed_id: MetaFeedFeedId,
        limit: MetaFeedLimit = None,
        cursor: MetaFeedCursor = None,
        full_text: FullTextContent = False,
        archive: MetaFeedArchive = None,
    ) -> Response[bytes]:
        feed = await require_feed(feed_id, services_of(request))
        query = Collection(feed_ids=(feed.id,), full_text=full_text or None)
        path = f"/feeds/{quote(feed.id, safe='')}/feed.{kind}"
        return await _serve(request, _wanted(request, kind, query, path, limit, cursor, archive))

    return feed_feed


def _of_tag(kind: MetaFeedFormat) -> Handler:
    async def tag_feed(
        request: AnyRequest,
        tag: MetaFeedTag,
        limit: MetaFeedLimit = None,
        cursor: MetaFeedCursor = None,
        full_text: FullTextContent = False,
        archive: MetaFeedArchive = None,
    ) -> Response[bytes]:
        query = Collection(tag=tag, full_text=full_text or None)
        path = f"/tags/{quote(tag, safe='')}/feed.{kind}"
        return await _serve(request, _wanted(request, kind, query, path, limit, cursor, archive))

    return tag_feed


def _wanted(
    request: AnyRequest,
    kind: MetaFeedFormat,
    query: Collection,
    path: str,
    limit: int | None,
    cursor: str | None,
    archive: str | None,
    asked: Sequence[tuple[str, str | None]] = (),
) -> MetaFeedRequest:
    period = None if archive is None else read_period(archive)
    if archive is not None and period is None:
        detail = f"archive: {archive!r} is no period such as 2026, 2026-11, 2026-11-16T09"
        raise RequestError(code="bad-parameter", detail=detail)
    usual = services_of(request).config.metafeed.page_entries
    size = min(max(usual if limit is None else limit, 1), MOST_ENTRIES)
    pairs = (
        *asked,
        ("full_text", "1" if query.full_text else None),
        ("duplicates", query.duplicates),
        ("limit", None if limit is None else str(size)),
    )
    parameters = tuple((name, value) for name, value in pairs if value is not None)
    return MetaFeedRequest(kind, query, path, parameters, cursor, size, period)


def _on_access(request: AnyRequest, error: AccessError) -> Response[bytes]:
    """As for other routes, but the challenge also offers Basic for feed readers."""
    response = on_error(request, error)
    if response.status_code == 401:
        response.headers["WWW-Authenticate"] = _CHALLENGE
    return response


routes = Routes("/", "feeds for readers", exception_handlers={AccessError: _on_access})


def _add_routes(
    path: str, make: Callable[[MetaFeedFormat], Handler], name: str, about: str
) -> None:
    """One route for each format."""
    for kind, form in FORMATS.items():
        add = routes.get(
            f"{path}/feed.{kind}",
            "read",
            "bad-cursor bad-parameter not-found",
            operation_id=f"{name}{form.label}",
            summary=f"{about}, as {form.name}.",
            gives=dict if kind == "json" else str,
            media_type=form.media_type,
            basic=True,
        )
        add(make(kind))


_add_routes("/collections", _collection, "collection", "Newest entries that match the filters")
_add_routes("/feeds/{feed_id:str}", _of_feed, "feed", "Newest entries of one feed")
_add_routes("/tags/{tag:str}", _of_tag, "tag", "Newest entries of feeds with a tag")

hub = Routes("/", "feeds for readers")


@hub.post(
    "/hub",
    "read",
    "conflict invalid-body not-found bad-address",
    gives=str,
    basic=True,
    body=str,
    takes=(FORM,),
    media_type="text/plain",
    status=202,
)
async def subscribe_to_meta_feed(request: AnyRequest) -> Response[bytes]:
    """Subscribe to a meta-feed of this server by WebSub, or end a subscription."""
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        raise RequestError(code="unsupported-media-type", detail=f"send {FORM}")
    body = await request.body()
    if len(body) > _MOST_HUB_BYTES:
        raise RequestError(code="too-large", detail=f"at most {_MOST_HUB_BYTES} bytes")
    services = services_of(request)
    form = decode_form(body.decode("utf-8", "replace"))
    await request_subscription(form, _base(request), services)
    return Response(b"the subscriber will be asked\n", status_code=202, media_type="text/plain")
