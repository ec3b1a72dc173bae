"""Cursors go out opaque and come back checked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.errors import CursorError
from feedmill.publish.cursors import read_cursor, write_cursor


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
