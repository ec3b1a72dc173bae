"""Events as messages of a bus: headers, bodies, subjects."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from feedmill.model.event import Event
from feedmill.publish.cloudevents import bus_message, encode_header_value, subject_of

AT = datetime(2026, 3, 1, 13, 30, tzinfo=timezone(timedelta(hours=1))).astimezone(UTC)


def an_event(**other: Any) -> Event:
    given: dict[str, Any] = {
        "seq": 42,
        "id": "an-id",
        "type": "new_entry",
        "feed_id": "a-feed",
        "occurred_at": AT,
        "entry_uid": "an-entry",
        "data": {"title": "Ein Beitrag über Käse"},
    }
    return Event(**given | other)


def test_in_binary_mode_the_headers_are_the_attributes_and_the_body_is_the_data() -> None:
    message = bus_message(an_event(), "urn:mill")

    assert dict(message.headers) == {
        "content-type": "application/json",
        "ce-specversion": "1.0",
        "ce-id": "an-id",
        "ce-source": "urn:mill",
        "ce-type": "feedmill.new_entry",
        "ce-subject": "an-entry",
        "ce-time": "2026-03-01T12:30:00Z",
        "ce-sequence": "00000000000000000042",
        "ce-feedid": "a-feed",
    }
    assert json.loads(message.body or b"") == {"title": "Ein Beitrag über Käse"}


def test_in_structured_mode_the_body_is_the_whole_event_and_the_headers_repeat_it() -> None:
    message = bus_message(an_event(), "urn:mill", mode="structured")
    headers, body = dict(message.headers), json.loads(message.body or b"")

    assert headers["content-type"] == "application/cloudevents+json; charset=UTF-8"
    assert headers["ce-id"] == body["id"] == "an-id"
    assert body["data"] == {"title": "Ein Beitrag über Käse"}
    assert body["datacontenttype"] == "application/json"


def test_kafka_has_a_prefix_of_its_own() -> None:
    names = [name for name, _ in bus_message(an_event(), "urn:mill", prefix="ce_").headers]

    assert names[0] == "content-type"
    assert all(name.startswith("ce_") for name in names[1:])


@pytest.mark.parametrize("mode", ["binary", "structured"])
def test_data_that_does_not_fit_is_left_in_the_log(mode: Any) -> None:
    message = bus_message(an_event(), "urn:mill", mode=mode, max_bytes=10)

    assert dict(message.headers)["ce-dataref"] == "/events?after=41&limit=1"
    if mode == "binary":
        assert message.body is None
        assert "content-type" not in dict(message.headers)
    else:
        body = json.loads(message.body or b"")
        assert body["dataref"] == "/events?after=41&limit=1"
        assert not {"data", "datacontenttype"} & set(body)


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("urn:mill", "urn:mill"),
        ("a b", "a%20b"),  # the three that HTTP's binding names
        ('"quoted"', "%22quoted%22"),
        ("100%", "100%25"),
        ("Käse", "K%C3%A4se"),
        ("\U0001f9c0", "%F0%9F%A7%80"),
        ("a\r\nNats-Rollup: all", "a%0D%0ANats-Rollup:%20all"),  # no header of a stranger's
        ("\x7f", "%7F"),
    ],
)
def test_a_header_holds_printable_ascii_only(text: str, encoded: str) -> None:
    assert encode_header_value(text) == encoded


@pytest.mark.parametrize(
    ("kind", "feed_id", "subject"),
    [
        ("new_entry", "0199-ab_C", "mill.new_entry.0199-ab_C"),
        ("entry.updated", "f", "mill.entry-updated.f"),  # a dot would make it two tokens
        ("feed.move_held", "a.b", "mill.feed-move_held.a%2Eb"),
        ("feed.added", "*>", "mill.feed-added.%2A%3E"),  # wildcards of a subscription
        ("feed.added", "a b\r\n", "mill.feed-added.a%20b%0D%0A"),
        ("feed.added", "", "mill.feed-added._"),
    ],
)
def test_a_subject_has_one_token_for_the_type_and_one_for_the_feed(
    kind: str, feed_id: str, subject: str
) -> None:
    assert subject_of(an_event(type=kind, feed_id=feed_id), "mill") == subject
