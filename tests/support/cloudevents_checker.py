"""Is this a CloudEvent? Written from the specification 1.0.2 and its bindings, not from our code."""

import json
import re
from typing import Any

from tests.support.bus_readers import Read, attributes

REQUIRED = ("specversion", "id", "source", "type")
NAME = re.compile(r"[a-z0-9]{1,20}")  # spec 3.1: lower-case letters and digits; SHOULD be short
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")  # RFC 3339
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;.*)?")
URI_REFERENCE = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")  # RFC 3986, its characters


def event_of(message: Read) -> dict[str, Any]:
    """The event on a message of either mode; AssertionError when it is none."""
    content_type = message.headers.get("content-type", "")
    if content_type.lower().startswith("application/cloudevents"):
        event = _structured(message, content_type)
    else:
        event = dict(attributes(message))
        if content_type:
            event["datacontenttype"] = content_type
        if message.body:
            event["data"] = json.loads(message.body)
    _check(event)
    return event


def _structured(message: Read, content_type: str) -> dict[str, Any]:
    assert content_type.partition(";")[0] == "application/cloudevents+json"
    event: dict[str, Any] = json.loads(message.body or b"")
    repeated = attributes(message)  # the bindings allow the headers here too, as long as they agree
    assert repeated == {name: event[name] for name in repeated}
    return event


def _check(event: dict[str, Any]) -> None:
    for name in REQUIRED:
        assert isinstance(event.get(name), str), name
        assert event[name], name
    assert event["specversion"] == "1.0"
    assert URI_REFERENCE.fullmatch(event["source"])
    assert all(NAME.fullmatch(name) for name in event)
    assert all(isinstance(value, str) for name, value in event.items() if name != "data")
    assert "data_base64" not in event
    for name, form in (
        ("time", TIME),
        ("datacontenttype", MEDIA_TYPE),
        ("dataref", URI_REFERENCE),
    ):
        assert name not in event or form.fullmatch(event[name]), name
    assert event.get("subject") != ""
