"""What goes when there is no room."""

from datetime import UTC, datetime

from feedmill.media.select import files_that_go
from feedmill.model.derived.fetched import MediaFile


def at(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


FILES = [MediaFile(sha256=str(day), size_bytes=10, newest_at=at(day)) for day in (1, 2, 3)]


def test_oldest_files_go_until_there_is_room() -> None:
    assert files_that_go(FILES, 11, before=at(9)) == tuple(FILES[:2])
    assert files_that_go(FILES, 0, before=at(9)) == ()


def test_file_never_takes_the_place_of_a_newer_one() -> None:
    assert files_that_go(FILES, 20, before=at(2)) is None
    assert files_that_go(FILES, 10, before=at(2)) == tuple(FILES[:1])


def test_nothing_goes_when_it_would_not_be_enough() -> None:
    assert files_that_go(FILES, 31, before=at(9)) is None
    left_over = MediaFile(sha256="x", size_bytes=5)
    assert files_that_go([left_over], 5, before=at(1)) == (left_over,)
