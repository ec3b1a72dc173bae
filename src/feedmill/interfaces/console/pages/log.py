"""The event log: the newest events, filtered, and live; a tick for pages that refresh themselves."""
# Tested in tests/integration/interfaces/console/test_log.py

from collections.abc import AsyncIterator
from typing import Any, Final, get_args
from urllib.parse import urlencode

from litestar import get
from litestar.response import Stream

from feedmill.engine.service import queries
from feedmill.errors import CrowdedError
from feedmill.interfaces.console.render import ENVIRONMENT, view
from feedmill.interfaces.console.session import SCOPE, caller_of, number_field
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.event import Event, EventType

HERE: Final = "/console/log"
SSE: Final = "text/event-stream"
RETRY: Final = b"retry: 3000\n\n"
_TICK_SEC: Final = 5.0
_PER_PAGE: Final = 100
_REACH: Final = 5_000  # events that are looked through for a filtered page
_BATCH: Final = 200
# What the data of an event says to people, in this order.
_FACTS: Final = (
    "host", "before", "after", "circuit", "reason", "waiting", "deleted", "detail", "from", "to_url", "link", "published", "feeds",
)  # fmt: skip


@view("/console/log", "log.html", "Log")
async def log(request: AnyRequest) -> dict[str, Any]:
    """The newest events first; `before` goes back."""
    services, choice = services_of(request), _choice(request)
    last = await services.store.last_seq()
    given = request.query_params.get("before", "")
    end = min(number_field(request.query_params, "before", last + 1, digits=18), last + 1)
    found, begin = await _back(request, end, choice)
    chosen = {name: ",".join(value) for name, value in choice.items() if value}
    return {
        "events": [_row(one) for one in found],
        "types": get_args(EventType),
        "choice": choice,
        "is_live": not given,
        "stream": f"{HERE}/stream?{urlencode({**chosen, 'after': last})}",
        "older": f"{HERE}?{urlencode({**chosen, 'before': begin})}" if begin > 1 else None,
    }


@get("/console/log/stream", opt={SCOPE: "read"})
async def log_stream(request: AnyRequest) -> Stream:
    """New events as rows of the table; 409 after a number that the log has not reached."""
    given = str(request.headers.get("last-event-id") or request.query_params.get("after") or "")
    after = int(given) if given.isdecimal() and len(given) < 19 else await _last(request)
    await queries.check_position(services_of(request), after, whole=False)
    return event_stream(request, _rows(request, after))


async def _back(
    request: AnyRequest, end: int, choice: dict[str, tuple[str, ...]]
) -> tuple[list[Event], int]:
    """The newest events before a number, and the number of the oldest that was looked at."""
    store, found = services_of(request).store, list[Event]()
    reach = _REACH if any(choice.values()) else _PER_PAGE
    begin, looked = end, 0
    while begin > 1 and looked < reach and len(found) < _PER_PAGE:
        size = min(max(_PER_PAGE, 1_000 if any(choice.values()) else 0), begin - 1)
        batch = await store.events(after=begin - size - 1, limit=size)
        fitting = [
            one
            for one in batch
            if one.seq < begin
            and (not choice["types"] or one.type in choice["types"])
            and (not choice["feed_ids"] or one.feed_id in choice["feed_ids"])
        ]
        begin -= size
        if batch and batch[0].type == "log.rewound":  # no event has the numbers that it leaps over
            begin = min(begin, int(batch[0].data["log_ended_at"]) + 1)
            size = len(batch)
        looked += size
        room = _PER_PAGE - len(found)
        if len(fitting) > room:
            fitting = fitting[-room:]
            begin = fitting[0].seq
        found = fitting + found
    return found[::-1], begin


async def _rows(request: AnyRequest, after: int) -> AsyncIterator[bytes]:
    """Rows of the log after a number, as they come."""
    state, choice = app_state_of(request), _choice(request)
    row = ENVIRONMENT.get_template("log_row.html")
    yield RETRY
    while not state.watch.is_stopping():
        found = await queries.events(
            state.services,
            after=after,
            limit=_BATCH,
            types=choice["types"],
            feed_ids=choice["feed_ids"],
        )
        for one in found.items:
            text = row.render(event=_row(one), now=state.services.clock.now())
            yield f"id: {one.seq}\nevent: row\ndata: {' '.join(text.split())}\n\n".encode()
        after = found.next
        if after >= found.last_seq:
            every = state.config.heartbeat_sec
            await state.notifier.wait_past(after, timeout_sec=every)
            if not await is_still_allowed(request):
                return
            yield b": still here\n\n"


async def _last(request: AnyRequest) -> int:
    return await services_of(request).store.last_seq()


def _choice(request: AnyRequest) -> dict[str, tuple[str, ...]]:
    known = get_args(EventType)
    given = request.query_params
    types = [one for text in given.getall("types", []) for one in str(text).split(",")]
    feeds = [one.strip() for text in given.getall("feed_ids", []) for one in str(text).split(",")]
    return {
        "types": tuple(one for one in dict.fromkeys(types) if one in known),
        "feed_ids": tuple(one[:100] for one in dict.fromkeys(feeds) if one)[:20],
    }


def _row(event: Event) -> dict[str, Any]:
    """An event as a row: its number, and what it says in a few words."""
    data = event.data
    subject = data.get("title") or data.get("url") or data.get("host") or event.entry_uid or ""
    facts = {
        name: data[name]
        for name in _FACTS
        if isinstance(data.get(name), str | int | float) and data[name] != ""
    }
    return {
        "seq": event.seq,
        "at": event.occurred_at,
        "type": event.type,
        "feed_id": event.feed_id,
        "entry_uid": event.entry_uid,
        "subject": str(subject)[:200],
        "facts": ", ".join(f"{name} {str(value)[:80]}" for name, value in facts.items())[:400],
    }


@get("/console/stream", opt={SCOPE: "read"})
async def ticks(request: AnyRequest) -> Stream:
    """Tell a page every few seconds that it may be out of date."""
    return event_stream(request, _ticks(request))


def event_stream(request: AnyRequest, chunks: AsyncIterator[bytes]) -> Stream:
    """A stream that no proxy may buffer; CrowdedError when too many are open."""
    if not app_state_of(request).streams.take(request):
        message = "too many open streams"
        raise CrowdedError(message, reason="too-many-streams", retry_after_sec=10.0)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(chunks, media_type=SSE, headers=headers)


async def is_still_allowed(request: AnyRequest) -> bool:
    """False once the session has ended."""
    caller = await caller_of(request)
    return caller is not None and caller.may("read")


async def _ticks(request: AnyRequest) -> AsyncIterator[bytes]:
    watch = app_state_of(request).watch
    yield RETRY
    while not watch.is_stopping():
        await watch.sleep_unless_stopping(_TICK_SEC)
        if not await is_still_allowed(request):
            return
        yield b"event: tick\ndata:\n\n"
