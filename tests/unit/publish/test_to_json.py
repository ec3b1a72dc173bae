"""One shape for every door, with the names of the specification and without a credential.

Cursors go out opaque and come back checked.
"""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import ScheduleConfig
from feedmill.errors import CursorError
from feedmill.model.event import RawRef, Revision, StoredEntry
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord
from feedmill.model.fetch import Validators
from feedmill.model.schedule import Cadence, Hint, Hints, Outcome, ScheduleState
from feedmill.publish.to_json import (
    decision_wire,
    entry_wire,
    feed_wire,
    fetch_wire,
    format_instant,
    read_cursor,
    refresh_wire,
    revision_wire,
    write_cursor,
)
from feedmill.schedule.decide import decide_next_poll

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
STATE = ScheduleState(interval_sec=900.4, cadence=Cadence(ewma_sec=60.2), consecutive_failures=2)
FEED = Feed(
    id="f",
    url="https://paper.example/feed",
    feed_key="https://paper.example/feed",
    created_at=NOON,
    next_poll_at=NOON + timedelta(minutes=15),
    schedule=STATE,
)
FETCH = FetchRecord(
    fetch_id="x",
    feed_id="f",
    scheduled_at=NOON,
    fetched_at=NOON,
    url=FEED.url,
    final_url=FEED.url,
    outcome="fresh",
    http_status=200,
    response_headers=(("Set", "a"), ("Set", "b")),
    repairs=("leading-junk",),
)


def test_a_feed_has_the_fields_of_the_specification() -> None:
    shape = feed_wire(FEED, ScheduleConfig())

    assert shape["schedule"] == {
        "interval_sec": 900,
        "min_interval_sec": 300,
        "max_interval_sec": 86_400,
        "last_decision_at": None,
        "next_poll_at": "2025-10-14T12:15:00Z",
        "reason": "",
        "retry_after_sec": None,
    }
    assert shape["validators"] == {"etag": None, "last_modified": None}
    assert shape["publisher_hints"] == {"ttl_minutes": None, "skip_hours": None, "skip_days": None}
    assert shape["stats"]["ewma_interarrival_sec"] == 60
    assert shape["stats"]["consecutive_failures"] == 2
    assert msgspec.json.decode(msgspec.json.encode(shape)) == shape


def test_what_a_feed_has_learnt_is_shown() -> None:
    feed = msgspec.structs.replace(
        FEED,
        schedule=ScheduleState(interval_sec=1),
        validators=Validators(etag='"1"', last_modified="then"),
        overrides=FeedOverrides(min_interval_sec=60, max_interval_sec=120),
        same_bodies=3,
        hints=Hints(
            ttl_sec=Hint(value=5400, source="ttl", seen_at=NOON),
            skip_hours=Hint(value=(1, 2), source="skipHours", seen_at=NOON),
            skip_days=Hint(value=("Sun",), source="skipDays", seen_at=NOON),
            retry_after_sec=Hint(value=30, source="retry-after", seen_at=NOON),
        ),
    )

    shape = feed_wire(feed, ScheduleConfig())

    assert shape["publisher_hints"] == {
        "ttl_minutes": 90,
        "skip_hours": [1, 2],
        "skip_days": ["Sun"],
    }
    assert shape["validators"] == {"etag": '"1"', "last_modified": "then"}
    assert shape["schedule"]["retry_after_sec"] == 30
    assert (shape["schedule"]["min_interval_sec"], shape["schedule"]["max_interval_sec"]) == (
        60,
        120,
    )
    assert shape["stats"]["ewma_interarrival_sec"] is None
    assert shape["validators_ineffective"]


def test_no_credential_reaches_the_wire() -> None:
    own = FeedOverrides(
        username="ann",
        password="hush-1",
        headers=(("X-Key", "hush-2"),),
        proxy="http://ann:hush-3@proxy.example",
        verify_tls=False,
    )

    shape = feed_wire(msgspec.structs.replace(FEED, overrides=own), ScheduleConfig())

    assert "hush" not in str(shape)
    assert "ann" not in str(shape)
    assert shape["overrides"]["header_names"] == ["X-Key"]
    assert shape["overrides"]["has_credentials"]
    assert shape["overrides"]["has_proxy"]
    assert not shape["overrides"]["verify_tls"]


def test_an_entry_and_its_earlier_states_are_plain_data() -> None:
    entry = StoredEntry(
        entry_uid="u",
        feed_id="f",
        first_seen=NOON,
        last_seen=NOON,
        seen_count=1,
        content_hash="h",
        dedupe_key="d",
        match_confidence="high",
        raw_refs=(RawRef(fetch_id="x", offset=1, length=2),),
    )
    revision = Revision(
        entry_uid="u", number=1, replaced_at=NOON, changed=("title",), content_hash=None
    )

    shape = entry_wire(entry)

    assert shape["first_seen"] == "2025-10-14T12:00:00Z"
    assert shape["raw_refs"][0] == {"fetch_id": "x", "offset": 1, "length": 2, "note": None}
    assert revision_wire(revision)["number"] == 1


def test_headers_stay_in_order_with_duplicates() -> None:
    shape = fetch_wire(FETCH)

    assert [tuple(pair) for pair in shape["response_headers"]] == [("Set", "a"), ("Set", "b")]


def test_a_refresh_in_short_says_what_came_and_what_is_next() -> None:
    shape = refresh_wire(FEED, FETCH)

    assert (shape["outcome"], shape["http_status"], shape["repairs"]) == (
        "fresh",
        200,
        ["leading-junk"],
    )
    assert shape["next_poll_at"] == "2025-10-14T12:15:00Z"


def test_a_decision_has_its_chain_of_reasons() -> None:
    outcome = Outcome(kind="unchanged", http_status=304)
    decision = decide_next_poll(STATE, outcome, Hints(), now=NOON, feed_id="f")

    shape = decision_wire(decision)

    assert shape["reason"] == "not-modified"
    assert shape["interval_before_sec"] == 900.4
    assert shape["steps"][0]["code"] == "not-modified"
    assert shape["decided_at"] == "2025-10-14T12:00:00Z"


def test_instants_are_rfc_3339_in_utc() -> None:
    assert format_instant(None) is None
    assert format_instant(NOON.astimezone(timezone(timedelta(hours=2)))) == "2025-10-14T12:00:00Z"


@pytest.mark.parametrize("position", ["1", "1760436000000000.42", "7.0a1b"])
def test_a_cursor_comes_back_as_the_position_that_it_was(position: str) -> None:
    cursor = write_cursor("entries", position)

    assert cursor is not None
    assert position not in cursor
    assert read_cursor("entries", cursor) == position


def test_the_end_of_a_list_has_no_cursor_and_its_beginning_needs_none() -> None:
    assert write_cursor("entries", None) is None
    assert read_cursor("entries", None) is None


def test_a_cursor_is_good_for_its_own_list_only() -> None:
    cursor = write_cursor("feeds", "3")

    with pytest.raises(CursorError, match="no cursor of this list"):
        read_cursor("entries", cursor)


@pytest.mark.parametrize("cursor", ["", "x", "é", "A" * 201, "====", "AAAAAA", "\x00"])
def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(CursorError):
        read_cursor("entries", cursor)


@given(st.text(max_size=60))
def test_nothing_but_a_cursor_is_read_as_one(text: str) -> None:
    try:
        position = read_cursor("entries", text)
    except CursorError:
        return

    assert write_cursor("entries", position) == text


@given(st.integers(0, 30), st.integers(1, 255))
def test_a_cursor_that_was_tampered_with_is_refused(at: int, change: int) -> None:
    cursor = write_cursor("entries", "1760436000000000.42") or ""
    place = at % len(cursor)
    other = chr((ord(cursor[place]) + change) % 128)
    if other == cursor[place]:
        return

    with pytest.raises(CursorError):
        read_cursor("entries", cursor[:place] + other + cursor[place + 1 :])
