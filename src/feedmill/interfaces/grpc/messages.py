"""Converts between the shared shapes and the messages of the proto file.

A message has the fields of its shape, by the same names, so it is built from them in one step. Two
things have another form on this wire: what has no fixed shape, such as the data of an event, is the JSON text
that REST sends (`…_json`), so that integers stay whole; and a pair of name and value is a Header.
"""
# Tested in tests/integration/interfaces/grpc/

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp

from feedmill.errors import UsageError
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.publish.mistakes import mistake_in_words
from feedmill.publish.shapes import AddedFeed, CanonicalShape

T = TypeVar("T")
M = TypeVar("M")

_DATETIME = (datetime,)


def message_of(kind: type[M], shape: msgspec.Struct) -> M:
    """The message with the fields of the shape; null becomes an absent field."""
    return kind(**_fit(_plain(shape), kind.DESCRIPTOR))  # type: ignore[attr-defined]  # every message has it


def added_message(added: AddedFeed) -> pb.AddFeedReply:
    """The feed and whether it was created."""
    feed = _plain(added)
    created = feed.pop("created")
    return pb.AddFeedReply(feed=feed, created=created)


def choices_message(choices: Iterable[Any]) -> pb.AddFeedReply:
    """The feeds of a page with several, to choose from."""
    return pb.AddFeedReply(choices=[_plain(found) for found in choices])


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
        raise UsageError(mistake_in_words(problem, kind)) from None


def optional_field(request: Any, name: str) -> Any:  # noqa: ANN401  # whatever the field holds
    """The value of a field, a time as a datetime; None when it is not set."""
    field = request.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not request.HasField(name):
        return None
    value = getattr(request, name)
    return _instant(value, name) if isinstance(value, Timestamp) else value


def _instant(moment: Timestamp, name: str) -> datetime:
    try:
        found: datetime = moment.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        message = f"{name} is not a time between the years 1 and 9999"
        raise UsageError(message) from None
    return found


def _fit(plain: dict[str, Any], described: Any) -> dict[str, Any]:  # noqa: ANN401  # a descriptor
    """The fields of a shape in the forms that the message gives them."""
    for name, source, form in _forms(described):
        if source in plain:
            plain[name] = form(plain.pop(source))
    return plain


@cache
def _forms(described: Any) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:  # noqa: ANN401
    """Fields of a message that have another form than in the shape, or fields with such fields."""
    return tuple(
        (field.name, field.name.removesuffix("_json"), form)
        for field in described.fields
        if (form := _form(field)) is not None
    )


def _form(field: Any) -> Callable[[Any], Any] | None:  # noqa: ANN401
    inner = field.message_type
    if field.name.endswith("_json"):
        return _json
    if inner is pb.Header.DESCRIPTOR:
        return lambda pairs: [{"name": name, "value": value} for name, value in pairs]
    is_map = inner is not None and inner.GetOptions().map_entry
    if is_map:
        inner = inner.fields_by_name["value"].message_type
    if inner is None or not _forms(inner):
        return None
    if is_map:
        return lambda found: {
            key: _fit(one, inner) for key, one in found.items() if one is not None
        }
    if field.is_repeated:
        return lambda found: [_fit(one, inner) for one in found]
    return lambda found: None if found is None else _fit(found, inner)


def _plain(shape: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(shape, builtin_types=_DATETIME)
    return plain


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _given(request: Any, names: Iterable[str]) -> dict[str, object]:  # noqa: ANN401
    known = request.DESCRIPTOR.fields_by_name
    return {name: _value(request, known[name]) if name in known else None for name in names}


def _value(request: Any, field: Any) -> object:  # noqa: ANN401
    value = optional_field(request, field.name)
    if field.name == "headers":
        return [(header.name, header.value) for header in value]
    return list(value) if field.is_repeated else value
