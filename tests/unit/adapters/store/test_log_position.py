"""The newest event that was told, in a file of the home folder."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedmill.adapters.store.log_position import LogPosition
from feedmill.engine.ports.entries import NewestEvent
from feedmill.model.event import Event


def event(seq: int) -> Event:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return Event(seq=seq, id=f"id-{seq}", type="feed.added", feed_id="f", occurred_at=noon)


def test_position_is_what_was_noted_last(tmp_path: Path) -> None:
    position = LogPosition(tmp_path / "position")

    before = position.read()
    position.note(event(1_000_000))
    position.note(event(2_000_000))

    assert before is None
    assert position.read() == NewestEvent(seq=2_000_000, id="id-2000000")
    assert position.covers(2_000_000)
    assert not position.covers(2_000_001)


def test_position_of_another_process_that_is_further_stays(tmp_path: Path) -> None:
    LogPosition(tmp_path / "position").note(event(50))

    LogPosition(tmp_path / "position").note(event(7))

    assert LogPosition(tmp_path / "position").read() == NewestEvent(seq=50, id="id-50")


@pytest.mark.parametrize(
    "left",
    [b"", b'{"seq": 5', b"\0\0\0", b'{"seq":5,"id":"34\xff"}', b'{"x":' + b"[" * 10_000],
    ids=["empty", "half", "zeros", "a byte that is no UTF-8", "deep"],
)
def test_file_that_a_power_cut_damaged_is_no_position_and_is_written_again(
    tmp_path: Path, left: bytes
) -> None:
    (tmp_path / "position").write_bytes(left)

    position = LogPosition(tmp_path / "position")

    assert position.read() is None
    position.note(event(3))
    assert position.read() == NewestEvent(seq=3, id="id-3")


def test_folder_that_cannot_be_written_keeps_no_position(tmp_path: Path) -> None:
    position = LogPosition(tmp_path / "missing" / "position")

    position.note(event(3))

    assert position.read() is None


def test_link_in_its_place_is_neither_read_nor_followed_and_gives_way_to_a_file(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    LogPosition(elsewhere).note(event(9))
    before = elsewhere.read_bytes()
    (tmp_path / "position").symlink_to(elsewhere)
    position = LogPosition(tmp_path / "position")

    read = position.read()
    position.note(event(50))

    assert read is None
    assert elsewhere.read_bytes() == before
    assert not (tmp_path / "position").is_symlink()
    assert position.read() == NewestEvent(seq=50, id="id-50")
