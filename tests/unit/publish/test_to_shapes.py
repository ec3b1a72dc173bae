"""What is shown is made of what is stored, and the command line shows the same."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.feed import BodyRef, Feed, FeedOverrides, FetchRecord
from feedmill.model.fetch import Hop
from feedmill.model.running.webhook import Webhook, WebhookSecret
from feedmill.model.schedule import Hint, Hints, Outcome, ScheduleState
from feedmill.publish.ndjson import json_lines
from feedmill.publish.to_json import decision_wire, feed_wire
from feedmill.publish.to_shapes import (
    added_feed,
    attempt_shape,
    decision_shape,
    feed_detail,
    feed_shape,
    fetch_shape,
    new_webhook,
    webhook_shape,
)
from feedmill.schedule.decide import decide_next_poll

NOON = datetime(2025, 10, 14, 12, tzinfo=UTC)
STATE = ScheduleState(interval_sec=900.0)
FEED = Feed(
    id="f",
    url="https://paper.example/feed",
    feed_key="https://paper.example/feed",
    created_at=NOON.astimezone(timezone(timedelta(hours=2))),
    next_poll_at=NOON,
    schedule=STATE,
    tags=("a", "b"),
    last_fetch_at=NOON,
)
WEBHOOK = Webhook(
    id="w",
    url="https://hook.example/in",
    created_at=NOON,
    secrets=(WebhookSecret(value="hush-new"), WebhookSecret(value="hush-old", valid_until=NOON)),
)


def plain(value: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_the_command_line_shows_the_same_feed() -> None:
    assert plain(feed_shape(FEED, ScheduleConfig())) == feed_wire(FEED, ScheduleConfig())


def test_an_instant_is_written_in_utc_whatever_zone_it_came_in() -> None:
    assert feed_wire(FEED, ScheduleConfig())["created_at"] == "2025-10-14T12:00:00Z"


def test_one_feed_has_its_addresses_and_a_new_one_says_so() -> None:
    shown = feed_shape(FEED, ScheduleConfig())

    detail = feed_detail(FEED, ("https://old.example/",), ScheduleConfig())
    added = added_feed(FEED, ScheduleConfig(), created=True)

    assert plain(detail) == {
        **feed_wire(FEED, ScheduleConfig()),
        "aliases": ["https://old.example/"],
    }
    assert plain(added) == {**feed_wire(FEED, ScheduleConfig()), "created": True}
    assert detail.url == added.url == shown.url


def test_a_feed_with_secrets_shows_only_that_it_has_some() -> None:
    own = FeedOverrides(password="hush", headers=(("X", "hush"),), proxy="http://a:hush@b")

    text = msgspec.json.encode(feed_shape(replace(FEED, overrides=own), ScheduleConfig()))

    assert b"hush" not in text


def test_a_decision_is_shown_with_its_hints_and_words() -> None:
    hints = Hints(ttl_sec=Hint(value=5400, source="ttl", seen_at=NOON))
    outcome = Outcome(kind="unchanged", http_status=304)
    decision = decide_next_poll(STATE, outcome, hints, now=NOON, feed_id="f")

    shape = decision_shape(decision, ("Because.",))

    assert shape.hints["skip_hours"] is None
    assert shape.hints["ttl_sec"] is not None
    assert shape.hints["ttl_sec"].value == 5400
    assert plain(shape) == decision_wire(decision, ("Because.",))


def test_an_attempt_is_a_fetch_in_short() -> None:
    fetch = FetchRecord(
        fetch_id="x",
        feed_id="f",
        scheduled_at=NOON,
        fetched_at=NOON,
        url=FEED.url,
        final_url=FEED.url,
        outcome="timeout",
    )

    assert (attempt_shape(fetch).outcome, attempt_shape(fetch).detail) == ("timeout", None)


def test_a_webhook_shows_its_secret_once() -> None:
    assert b"hush" not in msgspec.json.encode(webhook_shape(WEBHOOK))
    assert new_webhook(WEBHOOK).secret == "hush-new"


def test_any_value_is_one_line() -> None:
    line = json_lines([{"title": "a\nb\u2028c\u2029d\u0085e"}])

    assert len(line.decode().splitlines()) == 1
    assert msgspec.json.decode(line) == {"title": "a\nb\u2028c\u2029d\u0085e"}


@pytest.mark.parametrize(
    ("raw_url", "storage"),
    [
        (None, "localfs"),
        ("file:///mnt/raw", "localfs"),
        ("s3://bucket/raw", "s3"),
        ("gs://bucket", "gcs"),
        ("az://container", "azure"),
        ("https://account.example/raw", "https"),
    ],
)
def test_a_fetch_says_where_its_body_is_kept(raw_url: str | None, storage: str) -> None:
    hop = Hop(url="https://a.example/?token=t", status=301, location="/?api_key=k")
    url = "https://a.example/?key=k"
    fetch = FetchRecord(
        fetch_id="x",
        feed_id="f",
        scheduled_at=NOON,
        fetched_at=NOON,
        url=url,
        final_url=url,
        outcome="fresh",
        hops=(hop,),
        body_sha256="ab12",
    )

    shape = fetch_shape(fetch, raw_url)

    assert shape.body_ref == BodyRef(storage=storage, key="sha256:ab12")
    assert (shape.url, shape.hops[0].location) == ("https://a.example/?key=***", "/?api_key=***")
    assert fetch_shape(replace(fetch, body_sha256=None)).body_ref is None


def test_tokens_in_the_addresses_of_hubs_are_masked() -> None:
    feed = replace(FEED, hubs=("https://hub.example/?token=t0ken", "https://other.example/"))

    assert feed_shape(feed, ScheduleConfig()).hubs == (
        "https://hub.example/?token=***", "https://other.example/",
    )  # fmt: skip
