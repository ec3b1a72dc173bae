"""Routes /events: the event log by pages, by long polling, or as server-sent events (D29); /cursors: its readers.

A stream sends whole batches, waits for the client, and buffers nothing: a client that reads nothing
is disconnected and resumes after the sequence number of the last event that it saw.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, get_args

from litestar.response import Stream

from feedmill.engine.service import queries
from feedmill.errors import CrowdedError
from feedmill.interfaces.rest import responses
from feedmill.interfaces.rest.auth import is_still_authorised
from feedmill.interfaces.rest.parameters import After, FeedsQuery, Limit, path, query
from feedmill.interfaces.rest.problems import RequestError
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, AppState, app_state_of, services_of
from feedmill.model.event import EventType
from feedmill.publish.ndjson import event_line
from feedmill.publish.shapes import MAX_SEQ, CursorPage, EventPage, EventShape

SSE: Final = "text/event-stream"
_MOST_WAIT_SEC: Final = 60.0
_BATCH: Final = 500
_RETRY_MS: Final = 2_000
_MOST_DIGITS: Final = 40  # of a number, with zeros in front

Types = Annotated[str | None, query("Only these event types, comma-separated.", max_length=1_000)]
AfterId = Annotated[
    str | None,
    query(
        "The id of event `after`: 409 when the log has another one there.",
        max_length=200,
    ),
]
Wait = Annotated[float | None, query("Seconds to wait for the first event, 0 to 60.")]
Consumer = Annotated[str, path("The name of a reader.", max_length=500)]
routes = Routes("/events", "events")
cursors = Routes("/cursors", "events")


@routes.get(
    "/",
    "read",
    "bad-parameter log-rewound not-kept",
    gives=EventPage,
    lines=True,
    conditional=False,
)
async def list_events(
    request: AnyRequest,
    after: After = 0,
    after_id: AfterId = None,
    types: Types = None,
    feed: FeedsQuery = None,
    wait: Wait = None,
    limit: Limit = None,
) -> responses.ListAnswer:
    """List events after a sequence number; with `wait`, long polling."""
    state, wanted = app_state_of(request), _types(types)
    await queries.check_position(state.services, after, after_id)
    choice = {"types": wanted, "feed_ids": tuple(feed or ())}
    if responses.wants_ndjson(request):
        return responses.stream_response(
            responses.until_revoked(request, _all(state, after, choice)), responses.NDJSON
        )
    page = await _first(state, after, choice, limit=limit, wait=_seconds(wait))
    return responses.json_response(request, page)


@routes.get(
    "/stream",
    "read",
    "bad-parameter log-rewound not-kept too-many-streams",
    gives=str,
    media_type=SSE,
    conditional=False,
)
async def stream_events(
    request: AnyRequest, after: After = 0, types: Types = None, feed: FeedsQuery = None
) -> Stream:
    """Stream events as server-sent events; `Last-Event-ID` resumes."""
    state, wanted = app_state_of(request), _types(types)
    begin, begin_id = _last_event_id(request.headers.get("last-event-id"), after)
    await queries.check_position(state.services, begin, begin_id)
    if not state.streams.take(request):
        message = "too many open streams"
        raise CrowdedError(message, reason="too-many-streams", retry_after_sec=10.0)
    choice = {"types": wanted, "feed_ids": tuple(feed or ())}
    return responses.stream_response(_follow(request, begin, choice), SSE)


@cursors.get("/", "admin", gives=CursorPage, lines=True, conditional=False)
async def list_cursors(request: AnyRequest) -> responses.ListAnswer:
    """List readers of the log with how far they are behind."""
    return responses.list_answer(request, await queries.list_cursors(services_of(request)))


@cursors.delete("/{consumer:str}", "admin", "not-found", status=204)
async def drop_cursor(request: AnyRequest, consumer: Consumer) -> None:
    """Delete the position of a reader that does not read any more."""
    await queries.drop_cursor(consumer, services_of(request))


async def _first(
    state: AppState, after: int, choice: dict[str, Any], *, limit: int | None, wait: float
) -> EventPage:
    """The first non-empty page, or an empty one after the timeout."""
    services, clock = state.services, state.services.clock
    until = clock.monotonic() + wait
    while True:
        page = await queries.events(services, after=after, limit=limit, **choice)
        left = until - clock.monotonic()
        if page.items or left <= 0 or state.watch.is_stopping():
            return page
        after = page.next
        if page.next >= page.last_seq:
            await state.notifier.wait_past(after, timeout_sec=left)


async def _all(state: AppState, after: int, choice: dict[str, Any]) -> AsyncIterator[bytes]:
    """Every event up to the end of the log, as NDJSON."""
    while True:
        page = await queries.events(state.services, after=after, limit=_BATCH, **choice)
        if page.items:
            yield b"".join(event_line(event) for event in page.items)
        if page.next >= page.last_seq or page.next == after:
            return
        after = page.next


async def _follow(request: AnyRequest, after: int, choice: dict[str, Any]) -> AsyncIterator[bytes]:
    """The log from there on: each batch as one chunk, a comment as heartbeat when idle."""
    state = app_state_of(request)
    clock, every = state.services.clock, state.config.heartbeat_sec
    checked = clock.monotonic()
    yield f"retry: {_RETRY_MS}\n\n".encode()
    while not state.watch.is_stopping():
        page = await queries.events(state.services, after=after, limit=_BATCH, **choice)
        if page.items:
            yield b"".join(map(_sse, page.items))
        after = page.next
        if clock.monotonic() - checked >= every:
            checked = clock.monotonic()
            if not await is_still_authorised(request):
                return
        if after >= page.last_seq:
            has_news = await state.notifier.wait_past(after, timeout_sec=every)
            if not has_news and not state.watch.is_stopping():
                yield b": still here\n\n"


def _sse(event: EventShape) -> bytes:
    # The type comes from our own list and the data is one line, so no field can be forged.
    return b"id: %d\nevent: %s\ndata: %s\n" % (event.seq, event.type.encode(), event_line(event))


def _seconds(wait: float | None) -> float:
    """Seconds to wait; 0 when the value is not a number."""
    return min(wait, _MOST_WAIT_SEC) if wait is not None and wait > 0 else 0.0


def _types(given: str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    wanted = tuple(one.strip() for one in given.split(",") if one.strip())
    known = get_args(EventType)
    unknown = [one for one in wanted if one not in known]
    if unknown or not wanted:
        detail = f"types: {given[:100]!r} is invalid; use: {', '.join(known)}"
        raise RequestError(code="bad-parameter", detail=detail)
    return wanted


def _last_event_id(header: str | None, after: int) -> tuple[int, str | None]:
    """The sequence number to resume after: Last-Event-ID overrides `after`.

    It is the number, or the number and the event's id: `41/6b4c52a5-…`.
    """
    if header is None or header == "":
        return after, None
    number, _, id_ = header.partition("/")
    if not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
        raise RequestError(code="bad-parameter", detail="Last-Event-ID: not a sequence number")
    if int(number) > MAX_SEQ:
        raise RequestError(code="bad-parameter", detail="Last-Event-ID: not a sequence number")
    return int(number), id_ or None
