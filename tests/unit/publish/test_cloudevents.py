"""Events in the envelope of CloudEvents 1.0."""

import json
from datetime import UTC, datetime

import msgspec

from feedmill.model.event import Event
from feedmill.publish.cloudevents import bus_message, cloudevent
from feedmill.publish.ndjson import cloudevent_line, event_line, position_of_line

EVENT = Event(
    seq=42,
    id="0b6c",
    type="entry.updated",
    feed_id="feed-1",
    occurred_at=datetime(2025, 10, 14, 12, 0, 0, 5, tzinfo=UTC),
    entry_uid="uid-1",
    data={"title": "Zwölf\u2028Zeilen", "nothing": None},
)


def test_every_attribute_that_cloudevents_asks_for_is_there() -> None:
    envelope = json.loads(msgspec.json.encode(cloudevent(EVENT, "https://mill.example/")))

    assert envelope == {
        "specversion": "1.0",
        "id": "0b6c",
        "source": "https://mill.example/",
        "type": "feedmill.entry.updated",
        "subject": "uid-1",
        "time": "2025-10-14T12:00:00.000005Z",
        "datacontenttype": "application/json",
        "sequence": "00000000000000000042",
        "feedid": "feed-1",
        "data": {"title": "Zwölf\u2028Zeilen", "nothing": None},
    }


def test_attribute_names_are_lower_case_letters_and_digits() -> None:
    assert all(name.isalnum() and name.islower() for name in cloudevent(EVENT, "urn:x"))


def test_an_event_without_an_entry_is_about_its_feed() -> None:
    event = msgspec.structs.replace(EVENT, entry_uid=None)

    assert cloudevent(event, "urn:x")["subject"] == "feed-1"


def test_sequences_compare_as_text_in_the_order_of_the_log() -> None:
    numbers = [1, 9, 10, 99, 100, 2**62]
    events = [msgspec.structs.replace(EVENT, seq=number) for number in numbers]

    told = [cloudevent(event, "urn:x")["sequence"] for event in events]

    assert told == sorted(told)


def test_a_line_is_one_line_and_its_number_is_found_again() -> None:
    line = cloudevent_line(EVENT, "urn:x")

    assert len(line.decode().splitlines()) == 1
    assert line.endswith(b"\n")
    assert position_of_line(line)[0] == position_of_line(event_line(EVENT))[0] == 42


def test_a_line_that_was_cut_has_no_number() -> None:
    assert position_of_line(cloudevent_line(EVENT, "urn:x")[:-20])[0] == 0
    assert position_of_line(b"{}")[0] == 0


def test_event_of_a_traced_poll_carries_its_context_as_attribute_and_header() -> None:
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    traced = msgspec.structs.replace(EVENT, data={"traceparent": context})

    envelope, headers = cloudevent(traced, "urn:x"), dict(bus_message(traced, "urn:x").headers)

    assert envelope["traceparent"] == context
    assert (headers["ce-traceparent"], headers["traceparent"]) == (context, context)
    assert "traceparent" not in dict(bus_message(EVENT, "urn:x").headers)
