"""Events in the envelope of CloudEvents 1.0, JSON format, structured mode.

`source` and `id` together name an event for ever, so they are what a consumer deduplicates by.
`sequence` is the number in the log, padded: the extension compares it as text.
"""

from typing import Any

from feedmill.model.event import Event

TYPE_PREFIX = "feedmill."
_SEQUENCE_DIGITS = 20


def cloudevent(event: Event, source: str) -> dict[str, Any]:
    """The event in its envelope; attributes that CloudEvents names first, then ours."""
    return {
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
