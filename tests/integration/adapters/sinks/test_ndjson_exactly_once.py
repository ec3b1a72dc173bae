"""Each event on exactly one line, whatever happened to the writer, the disk or the neighbours."""

import asyncio
import json
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedmill.adapters.sinks import NdjsonSink
from feedmill.errors import SinkError
from feedmill.model.event import Event

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_event(seq: int, *, at: datetime = NOON, size: int = 10) -> Event:
    data = {"text": "x" * size}
    return Event(
        seq=seq, id=f"event-{seq}", type="new_entry", feed_id="f", occurred_at=at, data=data
    )


def events(first: int, last: int, *, size: int = 10) -> list[Event]:
    return [an_event(seq, size=size) for seq in range(first, last + 1)]


def deliver(tap: NdjsonSink, several: Sequence[Event]) -> None:
    asyncio.run(tap.deliver(several))


def written(folder: Path) -> list[int]:
    paths = sorted((folder / "events").glob("*.ndjson"))
    return [json.loads(line)["seq"] for path in paths for line in path.read_text().splitlines()]


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_delivery_that_is_repeated_writes_nothing(tmp_path: Path) -> None:
    deliver(NdjsonSink(tmp_path), events(1, 5))

    deliver(NdjsonSink(tmp_path), events(3, 7))

    assert written(tmp_path) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("size", [10, 40_000, 200_000])
def test_half_a_line_is_cut_and_written_again_however_long_it_is(tmp_path: Path, size: int) -> None:
    deliver(NdjsonSink(tmp_path), events(1, 3, size=size))
    path = tmp_path / "events" / "2026-03-01.ndjson"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - size // 2])

    deliver(NdjsonSink(tmp_path), events(2, 4, size=size))

    assert written(tmp_path) == [1, 2, 3, 4]


def test_a_disk_that_fills_up_in_the_middle_of_a_line_is_told_of_and_repaired(
    tmp_path: Path,
) -> None:
    tap = NdjsonSink(tmp_path)
    deliver(tap, events(1, 3, size=1000))

    with files_no_larger_than(5500), pytest.raises(SinkError, match="no space") as caught:
        deliver(tap, events(4, 9, size=1000))
    deliver(tap, events(4, 9, size=1000))

    assert caught.value.reason == "disk-full"
    assert written(tmp_path) == list(range(1, 10))


def test_two_taps_on_one_folder_write_each_event_once(tmp_path: Path) -> None:
    one, two = NdjsonSink(tmp_path), NdjsonSink(tmp_path)

    async def story() -> None:
        for first in range(1, 60, 3):
            several = events(first, first + 5)
            await asyncio.gather(one.deliver(several), two.deliver(several))

    asyncio.run(story())

    assert written(tmp_path) == list(range(1, written(tmp_path)[-1] + 1))


def test_events_around_midnight_are_written_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """A crash between two files must not leave a number out below the highest one written."""
    next_day = NOON + timedelta(days=1)
    mixed = [an_event(1), an_event(2, at=next_day), an_event(3), an_event(4, at=next_day)]
    (tmp_path / "events" / "2026-03-02.ndjson").mkdir(parents=True)  # cannot be written

    with pytest.raises(SinkError):
        deliver(NdjsonSink(tmp_path), mixed)
    (tmp_path / "events" / "2026-03-02.ndjson").rmdir()
    deliver(NdjsonSink(tmp_path), mixed)

    assert sorted(written(tmp_path)) == [1, 2, 3, 4]


def test_a_folder_that_cannot_be_made_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file in the way")

    with pytest.raises(SinkError) as caught:
        deliver(NdjsonSink(tmp_path / "out"), events(1, 1))

    assert caught.value.reason == "io-error"
