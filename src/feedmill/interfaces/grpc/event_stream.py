"""Events/Watch: all events after a sequence number, then new ones, each once and in order.

Each watcher reads its own pages of the log and waits until a page is sent, so a slow one does not
delay others and costs one page of memory. Existing events are sent in batches; the number beside a
batch is where to resume after a break, even when a filter removed all events.
"""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from msgspec import Meta

from feedmill.engine.service import queries
from feedmill.errors import CrowdedError
from feedmill.interfaces.grpc.errors import SHUTTING_DOWN
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.handlers import CallContext, StreamEnd
from feedmill.interfaces.grpc.messages import convert_checked, message_of
from feedmill.model.base import Value
from feedmill.model.event import EventType

_BUNCH: Final = 200
_BUNCH_BYTES: Final = 256 * 1024
_WAIT_SEC: Final = 5.0  # between two looks at whether the token still holds
_RETRY_SEC: Final = 5.0


class EventRequest(Value):
    """The filter of a watch request."""

    after: Annotated[int, Meta(ge=0)] = 0
    types: tuple[EventType, ...] = ()
    feed_ids: tuple[str, ...] = ()


def parse_event_request(request: Any) -> EventRequest:  # noqa: ANN401  # either request about events
    """The filter of a request; UsageError for an unknown event type."""
    given = {
        "after": request.after_seq,
        "types": list(request.types),
        "feed_ids": list(request.feed_ids),
    }
    return convert_checked(given, EventRequest)


async def watch_events(
    request: pb.WatchRequest, room: CallContext
) -> AsyncGenerator[pb.WatchReply | None, None]:
    """Batches of events without end; None from time to time while there are none."""
    wanted = parse_event_request(request)
    await queries.check_position(room.services, wanted.after)
    with _Seat(room):
        after = wanted.after
        yield pb.WatchReply(next=after)  # the stream is open
        while not room.watch.is_stopping():
            page = await queries.events(
                room.services,
                after=after,
                types=wanted.types,
                feed_ids=wanted.feed_ids,
                limit=_BUNCH,
            )
            if page.next > after:
                after = page.next
                for reply in _bunches(page.items, after):
                    yield reply
            else:
                await room.notifier.wait_past(after, timeout_sec=_WAIT_SEC)
                yield None
    raise StreamEnd(SHUTTING_DOWN)


class _Seat:
    """Take one of the limited places for watchers while the block runs."""

    def __init__(self, room: CallContext) -> None:
        self._room = room

    def __enter__(self) -> None:
        if len(self._room.watchers) >= self._room.services.config.grpc.max_watchers:
            message = "too many watchers"
            raise CrowdedError(message, reason="too-many-streams", retry_after_sec=_RETRY_SEC)
        self._room.watchers.add(self)

    def __exit__(self, *_: object) -> None:
        self._room.watchers.discard(self)


def _bunches(events: tuple[Any, ...], position: int) -> list[pb.WatchReply]:
    """The events of a page in messages of a bounded size; the last one carries the position.

    A page that the filter emptied is sent too, so that a client need not read it again.
    """
    replies: list[pb.WatchReply] = []
    bunch, size = list[pb.Event](), 0
    for event in events:
        message = message_of(pb.Event, event)
        bunch.append(message)
        size += message.ByteSize()
        if size >= _BUNCH_BYTES:
            replies.append(pb.WatchReply(events=bunch, next=event.seq))
            bunch, size = [], 0
    if bunch or not replies or replies[-1].next < position:
        replies.append(pb.WatchReply(events=bunch, next=position))
    return replies
