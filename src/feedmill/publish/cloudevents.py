"""CloudEvents 1.0: events as JSON envelopes, and as messages by the bindings for NATS and Kafka.

`source` and `id` together name an event for ever, so they are what a consumer deduplicates by.
`sequence` is the number in the log, padded: the extension compares it as text.
"""

from typing import Any, Final, Literal

import msgspec

from feedmill.model.base import Value
from feedmill.model.event import Event

TYPE_PREFIX = "feedmill."
_SEQUENCE_DIGITS = 20
TRACEPARENT: Final = "traceparent"  # W3C Trace Context, of the poll that an event comes from
ContentMode = Literal["binary", "structured"]
_JSON: Final = "application/json"
_STRUCTURED: Final = "application/cloudevents+json; charset=UTF-8"
_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class BusMessage(Value):
    """One event as a message of a bus; without a body when the data did not fit.

    In binary mode the attributes are headers and the body is the data; in structured mode the body
    is the whole event in JSON. The headers are there in both, so that a consumer can route and
    drop repetitions without reading a body. Redis has no binding; it gets the headers of NATS as
    fields.
    """

    headers: tuple[tuple[str, str], ...]
    body: bytes | None


def cloudevent(event: Event, source: str) -> dict[str, Any]:
    """The event in its envelope; attributes that CloudEvents names first, then ours."""
    envelope = {
        "specversion": "1.0",
        "id": event.id,
        "source": source,
        "type": f"{TYPE_PREFIX}{event.type}",
        "subject": event.entry_uid or event.feed_id,
        "time": event.occurred_at,  # in UTC, so the encoder ends it in Z
        "datacontenttype": "application/json",
        "sequence": f"{event.seq:0{_SEQUENCE_DIGITS}}",
        "feedid": event.feed_id,
        "data": event.data,
    }
    if TRACEPARENT in event.data:  # the extension for distributed tracing
        envelope[TRACEPARENT] = event.data[TRACEPARENT]
    return envelope


def bus_message(
    event: Event,
    source: str,
    *,
    mode: ContentMode = "binary",
    prefix: str = "ce-",
    max_bytes: int = 900_000,
) -> BusMessage:
    """The event as a message; data beyond `max_bytes` stays in the log, and `dataref` leads there.

    A bus refuses what is too large, and one refused event would hold up all that come after it.
    """
    envelope = cloudevent(event, source)
    data = msgspec.json.encode(envelope.pop("data"))
    fits = len(data) <= max_bytes
    if not fits:
        envelope["dataref"] = f"/events?after={event.seq - 1}&limit=1"
        del envelope["datacontenttype"]
    attributes = [
        (f"{prefix}{name}", _text(value))
        for name, value in envelope.items()
        if name != "datacontenttype"
    ]
    if TRACEPARENT in envelope:  # under its own name too, which tracing libraries look for
        attributes.append((TRACEPARENT, _text(envelope[TRACEPARENT])))
    if mode == "structured":
        whole = {**envelope, "data": msgspec.Raw(data)} if fits else envelope
        headers = (("content-type", _STRUCTURED), *attributes)
        return BusMessage(headers=headers, body=msgspec.json.encode(whole))
    if not fits:
        return BusMessage(headers=tuple(attributes), body=None)
    return BusMessage(headers=(("content-type", _JSON), *attributes), body=data)


def encode_header_value(text: str) -> str:
    """The text for a header of ASCII (HTTP binding 3.1.3.2): anything else percent-encoded."""
    if text.isascii() and text.isprintable() and not set(text) & {" ", '"', "%"}:
        return text
    return "".join(one if "!" <= one <= "~" and one not in '"%' else _percent(one) for one in text)


def subject_of(event: Event, root: str) -> str:
    """`<root>.<type>.<feed id>`: always one token each, whatever the type and the id look like."""
    kind = event.type.replace(".", "-")
    feed = "".join(one if one in _SAFE else _percent(one) for one in event.feed_id)
    return f"{root}.{kind}.{feed or '_'}"


def _percent(one: str) -> str:
    return "".join(f"%{octet:02X}" for octet in one.encode())


def _text(value: object) -> str:
    """An attribute as CloudEvents writes it; of ours, only the time is no text already."""
    plain: object = msgspec.to_builtins(value)
    return str(plain)
