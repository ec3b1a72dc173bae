"""Converts between the shared shapes and the messages of the proto file.

A message has the fields of its shape, by the same names, so it is built from them in one step. Two
things have another form on this wire: what has no fixed shape is the JSON text that REST sends
(`…_json`), and a pair of name and value is a Header.
"""
# Tested in tests/integration/interfaces/grpc/

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp

from feedmill.errors import UsageError
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.model.event import Event
from feedmill.model.feed import FetchRecord
from feedmill.publish.shapes import (
    AddedFeed,
    BackfillShape,
    CanonicalShape,
    DecisionPage,
    EventPage,
    JobPage,
    JobShape,
)
from feedmill.publish.simulation_shapes import SimulationShape

T = TypeVar("T")
M = TypeVar("M")

_DATETIME = (datetime,)


def message_of(kind: type[M], shape: msgspec.Struct) -> M:
    """The message with the fields of the shape; null becomes an absent field."""
    return kind(**_plain(shape))


def added_message(added: AddedFeed) -> pb.AddFeedReply:
    """The feed and whether it was created."""
    feed = _plain(added)
    created = feed.pop("created")
    return pb.AddFeedReply(feed=feed, created=created)


def choices_message(choices: Iterable[Any]) -> pb.AddFeedReply:
    """The feeds of a page with several, to choose from."""
    return pb.AddFeedReply(choices=[_plain(found) for found in choices])


def decisions_message(page: DecisionPage) -> pb.DecisionPage:
    """Decisions, with the values of their hints as JSON."""
    plain = _plain(page)
    for decision in plain["items"]:
        known = {name: hint for name, hint in decision["hints"].items() if hint is not None}
        for hint in known.values():
            hint["value_json"] = _json(hint.pop("value"))
        decision["hints"] = known
    return pb.DecisionPage(**plain)


def event_message(event: Event) -> pb.Event:
    """An event; its data is JSON text, so that integers stay whole and nothing is rounded."""
    return pb.Event(
        seq=event.seq,
        id=event.id,
        type=event.type,
        feed_id=event.feed_id,
        occurred_at=event.occurred_at,
        entry_uid=event.entry_uid,
        data_json=_json(event.data),
    )


def events_message(page: EventPage) -> pb.EventPage:
    """Events in order."""
    items = [event_message(event) for event in page.items]
    return pb.EventPage(items=items, next=page.next, last_seq=page.last_seq)


def fetch_message(fetch: FetchRecord) -> pb.Fetch:
    """A fetch; headers in the order of the wire, duplicates kept."""
    plain = _plain(fetch)
    for field in ("request_headers", "response_headers"):
        plain[field] = [{"name": name, "value": value} for name, value in plain[field]]
    return pb.Fetch(**plain)


def job_message(job: JobShape) -> pb.Job:
    """A job; its progress is JSON text."""
    plain = _plain(job)
    progress = _json(plain.pop("progress"))
    return pb.Job(**plain, progress_json=progress)


def backfill_message(found: BackfillShape) -> pb.Backfill:
    """The walk through an archive, with its job."""
    plain = _plain(found) | {"job": None if found.job is None else job_message(found.job)}
    return pb.Backfill(**plain)


def jobs_message(page: JobPage) -> pb.JobPage:
    """Jobs, newest first."""
    return pb.JobPage(items=[job_message(one) for one in page.items], next=page.next)


def simulation_message(found: SimulationShape) -> pb.Simulation:
    """A simulation; its settings are JSON text."""
    plain = _plain(found)
    settings = _json(plain.pop("settings"))
    return pb.Simulation(**plain, settings_json=settings)


def canonical_message(found: CanonicalShape) -> pb.CanonicalizeReply:
    """The canonical address and how it was found."""
    plain = _plain(found)
    del plain["existing"]  # what a caller remembers; other programs are not told
    return pb.CanonicalizeReply(**plain)


def read_wish(request: Any, kind: type[T]) -> T:  # noqa: ANN401  # any message
    """The fields of the request, validated by the rules of REST."""
    return convert_checked(_given(request, [field.name for field, _ in request.ListFields()]), kind)


def read_change(request: pb.ChangeFeedRequest, kind: type[T]) -> T:
    """The change: the fields of the mask, or all that are set."""
    named = list(request.update_mask.paths) or [
        field.name for field, _ in request.ListFields() if field.name != "id"
    ]
    return convert_checked(_given(request, named), kind)


def convert_checked(value: object, kind: type[T]) -> T:
    """The validated value; UsageError when it is invalid."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        raise UsageError(str(problem)) from None


def optional_field(request: Any, field: str) -> Any:  # noqa: ANN401  # whatever the field holds
    """The value of a field; None when it is not set."""
    return getattr(request, field) if request.HasField(field) else None


def optional_instant(request: Any, field: str) -> datetime | None:  # noqa: ANN401  # any message
    """The time in a field; None when it is not set."""
    if not request.HasField(field):
        return None
    moment: Timestamp = getattr(request, field)
    try:
        found: datetime = moment.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        message = f"{field} is not a time between the years 1 and 9999"
        raise UsageError(message) from None
    return found


def _plain(shape: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(shape, builtin_types=_DATETIME)
    return plain


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _given(request: Any, names: Iterable[str]) -> dict[str, object]:  # noqa: ANN401
    known = request.DESCRIPTOR.fields_by_name
    return {name: _value(request, known[name]) if name in known else None for name in names}


def _value(request: Any, field: Any) -> object:  # noqa: ANN401
    value = getattr(request, field.name)
    if field.name == "headers":
        return [(header.name, header.value) for header in value]
    if field.is_repeated:
        return list(value)
    return value if not field.has_presence or request.HasField(field.name) else None
