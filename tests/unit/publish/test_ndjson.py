"""An event is one line that no reader splits, and its number can be read back from it."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.event import Event, StoredEntry
from feedmill.model.page import LinePage
from feedmill.publish.ndjson import (
    cloudevent_line,
    entry_line,
    event_line,
    is_event_line,
    json_lines,
    page_lines,
    position_of_line,
)


def event(**data: object) -> Event:
    return Event(
        seq=7,
        id="e",
        type="new_entry",
        feed_id="f",
        occurred_at=datetime(2025, 10, 14, tzinfo=UTC),
        data=data,
    )


def test_whole_entry_is_a_line_without_what_no_search_has_set() -> None:
    at = datetime(2025, 10, 14, tzinfo=UTC)
    entry = StoredEntry(
        entry_uid="u",
        feed_id="f",
        first_seen=at,
        last_seen=at,
        seen_count=1,
        content_hash="h",
        dedupe_key="d",
        match_confidence="high",
        raw_refs=(),
    )

    found = msgspec.json.decode(entry_line(event(), entry))

    assert (found["entry_uid"], found["change"], found["seq"]) == ("u", "new", 7)
    assert found["first_seen"] == "2025-10-14T00:00:00Z"
    assert "highlight" not in found


def test_values_become_one_line_each() -> None:
    assert json_lines([1, "a\u2028b"]) == json_lines([1]) + json_lines(["a\u2028b"])


@given(st.text())
def test_a_line_has_no_line_end_but_its_own_and_reads_back_as_it_was(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()

    line = event_line(event(title=text))

    assert len(line.decode().splitlines()) == 1
    assert line.endswith(b"}\n")
    assert msgspec.json.decode(line, type=Event) == event(title=text)


@pytest.mark.parametrize(
    ("line", "seq"),
    [
        (event_line(event()), 7),
        (event_line(event())[:-5], 0),
        (b"", 0),
        (b'{"seq": "x"}', 0),
        (b"[]", 0),
        (b"\xff", 0),
        (b'{"seq":7,"id":"34\xff"}', 0),
        (b'{"seq":7,"x":' + b"[" * 10_000, 0),
    ],
)
def test_the_number_of_a_line_is_read_and_half_a_line_has_none(line: bytes, seq: int) -> None:
    assert position_of_line(line)[0] == seq


@given(st.lists(st.text()))
def test_many_lines_are_the_single_ones_one_after_the_other(texts: list[str]) -> None:
    lines = json_lines(texts)

    assert lines == b"".join(json_lines([text]) for text in texts)
    assert [msgspec.json.decode(line) for line in lines.decode().splitlines()] == texts


@pytest.mark.parametrize("texts", [[], ["a"], ["a\nb", "c\u2028d", ""]])
def test_a_page_of_lines_has_an_item_on_each(texts: list[str]) -> None:
    page = LinePage(lines=b"\n".join(map(msgspec.json.encode, texts)))

    assert [msgspec.json.decode(item) for item in page.items] == texts
    assert page_lines(page).decode().splitlines() == [
        json_lines([text]).decode().rstrip("\n") for text in texts
    ]


@given(st.lists(st.text()))
def test_a_page_that_is_json_already_has_the_same_lines(texts: list[str]) -> None:
    page = LinePage(lines=b"\n".join(map(msgspec.json.encode, texts)))

    assert page_lines(page) == json_lines(texts)
    assert page.items == tuple(map(msgspec.json.encode, texts))


def test_lines_of_events_are_told_from_lines_of_entries() -> None:
    assert is_event_line(event_line(event()))
    assert is_event_line(cloudevent_line(event(), "urn:x"))
    assert not is_event_line(b'{"seq":1,"event_id":"e","change":"new"}')
    assert not is_event_line(b'{"seq":1,')
    assert not is_event_line(b'{"seq":1,"id":"34\xff"}')
    assert position_of_line(b'{"seq":1,"event_id":"e"}') == (1, "e")
