"""An event is one line that no reader splits, and its number can be read back from it."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.event import Event
from feedmill.publish.ndjson import event_line, json_line, json_lines, position_of_line


def event(**data: object) -> Event:
    return Event(
        seq=7,
        id="e",
        type="new_entry",
        feed_id="f",
        occurred_at=datetime(2025, 10, 14, tzinfo=UTC),
        data=data,
    )


def test_values_become_one_line_each() -> None:
    assert json_lines([1, "a\u2028b"]) == json_line(1) + json_line("a\u2028b")


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
    ],
)
def test_the_number_of_a_line_is_read_and_half_a_line_has_none(line: bytes, seq: int) -> None:
    assert position_of_line(line)[0] == seq


@given(st.lists(st.text()))
def test_many_lines_are_the_single_ones_one_after_the_other(texts: list[str]) -> None:
    lines = json_lines(texts)

    assert lines == b"".join(map(json_line, texts))
    assert [msgspec.json.decode(line) for line in lines.decode().splitlines()] == texts
