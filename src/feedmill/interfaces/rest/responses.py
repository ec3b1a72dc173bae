"""Responses: JSON with ETag and Last-Modified, 304 when unchanged, NDJSON for whole lists.

An ETag is a digest of the bytes, so it never lies; it costs a microsecond a kilobyte. A stream of lines
reads one page at a time and waits for its reader, so it needs the same memory for ten entries and
for ten million.
"""
# Tested in tests/integration/interfaces/rest/

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Response
from litestar.response import Stream

from feedmill.interfaces.http_server import abort_connection
from feedmill.interfaces.rest.auth import SCOPE, is_still_authorised
from feedmill.interfaces.rest.problems import RequestError
from feedmill.interfaces.server_state import AnyRequest, app_state_of
from feedmill.model.page import LinePage, ListPage
from feedmill.publish.mistakes import mistake_in_words
from feedmill.publish.ndjson import json_lines, page_lines

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
# Whatever is served may be kept by the one who asked, and has to be asked for again.
REVALIDATE: Final = "private, no-cache"
_SECOND: Final = timedelta(seconds=1)
_KEPT: Final = "kept pages"  # in the caches of a server
KEPT_PAGE_BYTES: Final = 1 << 19
KEPT_BYTES: Final = 8 << 20  # of all of them
_KEPT_BESIDE: Final = 700  # what objects and tables take beside the octets of a page


AnyPage = ListPage[Any] | LinePage
FetchPage = Callable[..., Awaitable[AnyPage]]  # the page after a `cursor`
ListAnswer = Response[bytes] | Stream


def json_response(
    request: AnyRequest,
    value: object,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    modified: datetime | None = None,
) -> Response[bytes]:
    """The value as JSON, or 304 when the client's copy is current."""
    return bytes_response(
        request, msgspec.json.encode(value), JSON, status=status, headers=headers, modified=modified
    )


def bytes_response(
    request: AnyRequest,
    body: bytes,
    media_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    modified: datetime | None = None,
    etag: str | None = None,
) -> Response[bytes]:
    """Bytes with validators, or 304 when the client's copy is current (RFC 9110 13)."""
    tag = etag or etag_of(body)
    fields = {
        "ETag": tag,
        "Cache-Control": REVALIDATE,
        "Vary": "Accept, Authorization",
        **({"Last-Modified": format_datetime(modified, usegmt=True)} if modified else {}),
        **(headers or {}),
    }
    if status == 200 and is_not_modified(request, tag, modified):
        return Response(b"", status_code=304, headers=fields, media_type=media_type)
    return Response(body, status_code=status, headers=fields, media_type=media_type)


def etag_of(body: bytes) -> str:
    """A strong validator: the same for the same bytes, whichever process served them."""
    return f'"{sha256(body).hexdigest()[:32]}"'


def is_not_modified(request: AnyRequest, tag: str, modified: datetime | None) -> bool:
    """True when the request's conditions match the current version (RFC 9110 13.2.2)."""
    known = request.headers.get("if-none-match")
    if known is not None:
        tags = [one.strip().removeprefix("W/") for one in known.split(",")]
        return "*" in tags or tag.removeprefix("W/") in tags
    since = request.headers.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except (ValueError, OverflowError):  # no date, or one that no calendar has
        return False
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return modified.replace(microsecond=0) <= moment


class ChangeTimes:
    """The moment at which the answer of each URL last changed, for a bounded number of URLs.

    No column says when an entry or a collection of them changed: entries leave it, feeds are renamed, texts are
    revised, stories grow. So the digest of what was served and its moment are kept; a URL that was forgotten
    counts as changed just now, which costs its reader one answer.
    """

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._last: dict[str, tuple[str, datetime]] = {}

    def since(self, address: str, tag: str, now: datetime) -> datetime | None:
        """The value of Last-Modified; None when two answers fall into the same second.

        A date has no fractions, so every other answer gets a second of its own: a reader that was
        given one never takes a later answer for it (RFC 9110 8.8.2.2).
        """
        now = now.replace(microsecond=0)
        before = self._last.pop(address, None)
        if before is not None and before[0] == tag:
            moment = before[1]
        else:
            moment = max(now - _SECOND, before[1] + _SECOND) if before else now - _SECOND
        self._last[address] = (tag, moment)
        if len(self._last) > self._most:
            del self._last[next(iter(self._last))]
        return moment if moment <= now else None


def last_change(request: AnyRequest, kind: str, address: str, tag: str) -> datetime | None:
    """When the answer of an address got this ETag, as far as this process can tell; `kind` names the addresses among which it is kept."""
    state = app_state_of(request)
    known: ChangeTimes = state.caches.setdefault(kind, ChangeTimes())
    return known.since(address, tag, state.services.clock.now().astimezone(UTC))


def wants_ndjson(request: AnyRequest) -> bool:
    """True when the Accept header prefers NDJSON."""
    if NDJSON not in request.headers.get("accept", "").lower():
        return False
    return request.accept.best_match([JSON, NDJSON]) == NDJSON


async def list_response(
    request: AnyRequest, fetch_page: FetchPage, cursor: str | None, *, keep: bool = False
) -> ListAnswer:
    """One page as JSON, or every page from the cursor on as NDJSON.

    `keep` is for lists that depend on the store and the URL alone: the page is kept until the next commit.
    """
    if keep and not wants_ndjson(request):
        return await _kept_page(request, fetch_page, cursor)
    # A bad cursor is a problem, not a stream that ends too early.
    return list_answer(request, await fetch_page(cursor=cursor), fetch_page)


def list_answer(
    request: AnyRequest, page: AnyPage, fetch_page: FetchPage | None = None
) -> ListAnswer:
    """A page as JSON, or it and all that follow as NDJSON; a list that is whole has one page."""
    if wants_ndjson(request):
        return stream_response(until_revoked(request, _lines(page, fetch_page)), NDJSON)
    return bytes_response(request, page_json(page), JSON)


def page_json(page: AnyPage) -> bytes:
    """The page as one JSON object; items that are JSON already are copied as they are."""
    if not isinstance(page, LinePage):
        return msgspec.json.encode(page)
    items, following = page.lines.replace(b"\n", b","), msgspec.json.encode(page.next)
    return b"".join((b'{"items":[', items, b'],"next":', following, b"}"))


def stream_response(chunks: AsyncIterator[bytes], media_type: str) -> Stream:
    """A streaming response that no proxy may buffer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Accept"}
    return Stream(chunks, media_type=media_type, headers=headers)


async def until_revoked(request: AnyRequest, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks; the connection is aborted, not ended, once the token is revoked."""
    state = app_state_of(request)
    clock, every = state.services.clock, state.config.heartbeat_sec
    checked = clock.monotonic()
    async for chunk in chunks:
        yield chunk
        if clock.monotonic() - checked < every:
            continue
        checked = clock.monotonic()
        if not await is_still_authorised(request, request.route_handler.opt[SCOPE]):
            abort_connection(request.scope)
            return


async def read_json(request: AnyRequest, shape: type[Any]) -> Any:  # noqa: ANN401  # an instance of `shape`
    """The decoded JSON body; problems 413, 415, 400 and 422 otherwise."""
    check_content_type(request, (JSON,))
    body = await read_body(request, app_state_of(request).config.body_bytes)
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as problem:
        raise RequestError(code="invalid-body", detail=mistake_in_words(problem, shape)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise RequestError(code="bad-request", detail=f"the body is not JSON: {problem}") from None


async def read_body(request: AnyRequest, most: int) -> bytes:
    """The body; problem 413 as soon as it is longer than `most`."""
    pieces, length = list[bytes](), int(request.headers.get("content-length", "0"))
    if length <= most:
        length = 0
        async for piece in request.stream():
            pieces.append(piece)
            length += len(piece)
            if length > most:
                break
    if length > most:
        raise RequestError(code="too-large", detail=f"at most {most:,} bytes are allowed")
    return b"".join(pieces)


def check_content_type(request: AnyRequest, known: tuple[str, ...]) -> None:
    """Problem 415 unless Content-Type is one of these.

    A form of a web page cannot send JSON, so no page can make a browser change anything here.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in known:
        detail = f"send one of: {', '.join(known)}"
        raise RequestError(code="unsupported-media-type", detail=detail)


class KeptPage(NamedTuple):
    """A page as it was sent, and the version of the store before it was read."""

    version: int | None
    body: bytes
    etag: str


class KeptPages:
    """Pages of one version of the store that are not too long: with the next commit they go."""

    def __init__(self) -> None:
        self._by_url: dict[tuple[str, bytes], KeptPage] = {}
        self._version: int | None = None
        self._bytes = 0

    def get(self, url: tuple[str, bytes], version: int | None) -> KeptPage | None:
        """The page of a URL, unless something was or may have been committed since."""
        return None if version is None or version != self._version else self._by_url.get(url)

    def put(self, url: tuple[str, bytes], page: KeptPage) -> None:
        """Keep the page; the one that was kept first makes room."""
        if page.version != self._version:
            self._by_url.clear()
            self._version, self._bytes = page.version, 0
        self._drop(url)
        if page.version is None or len(page.body) > KEPT_PAGE_BYTES:
            return
        self._by_url[url] = page
        self._bytes += _size(url, page)
        while self._bytes > KEPT_BYTES:
            self._drop(next(iter(self._by_url)))

    def _drop(self, url: tuple[str, bytes]) -> None:
        page = self._by_url.pop(url, None)
        if page is not None:
            self._bytes -= _size(url, page)


def _size(url: tuple[str, bytes], page: KeptPage) -> int:
    return len(url[0]) + len(url[1]) + len(page.body) + _KEPT_BESIDE


async def _kept_page(
    request: AnyRequest, fetch_page: FetchPage, cursor: str | None
) -> Response[bytes]:
    state, scope = app_state_of(request), request.scope
    kept: KeptPages = state.caches.setdefault(_KEPT, KeptPages())
    version, url = state.services.store.version(), (scope["path"], scope["query_string"])
    page = kept.get(url, version)
    if page is None:
        body = page_json(await fetch_page(cursor=cursor))
        page = KeptPage(version, body, etag_of(body))
        kept.put(url, page)
    return bytes_response(request, page.body, JSON, etag=page.etag)


async def _lines(page: AnyPage, fetch_page: FetchPage | None) -> AsyncIterator[bytes]:
    while True:
        lines = page_lines(page) if isinstance(page, LinePage) else json_lines(page.items)
        if lines:
            yield lines
        if page.next is None or fetch_page is None:
            return
        page = await fetch_page(cursor=page.next)
