"""Files have each event exactly once, over restarts, half-written lines and second deliveries."""

import asyncio
import errno
from pathlib import Path

import pytest
from tests.support.sinks_under_test import Files, event, events

from feedmill.adapters.sinks import RawCopySink, StdoutSink
from feedmill.errors import SinkError
from feedmill.publish.ndjson import event_line, position_of_line


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def numbers(files: Files) -> list[int]:
    return [position_of_line(line)[0] for line in files.lines()]


def test_an_event_that_is_delivered_again_is_not_written_again(files: Files) -> None:
    async def story() -> None:
        tap = files.open()
        await tap.deliver(events(1, 3))
        await tap.deliver(events(2, 4))
        await files.open().deliver(events(1, 5))  # a crash before the cursor moved

    asyncio.run(story())

    assert numbers(files) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kept", range(0, 130, 13))
def test_half_a_last_line_is_cut_and_its_event_written_whole(files: Files, kept: int) -> None:
    async def story() -> None:
        await files.open().deliver(events(1, 2))
        with (files.folder / "events" / "2025-10-14.ndjson").open("ab") as file:
            file.write(event_line(event(3))[:kept])
        await files.open().deliver(events(3, 4))

    asyncio.run(story())

    assert numbers(files) == [1, 2, 3, 4]


def test_a_file_that_is_half_a_line_is_begun_anew(files: Files) -> None:
    folder = files.folder / "events"
    folder.mkdir(parents=True)
    (folder / "2025-10-14.ndjson").write_bytes(b'{"seq": 1, "id"')

    asyncio.run(files.open().deliver(events(1, 2)))

    assert numbers(files) == [1, 2]


def test_a_last_line_longer_than_any_buffer_is_still_found(files: Files) -> None:
    async def story() -> None:
        await files.open().deliver((event(1, text="x" * 300_000),))
        await files.open().deliver(events(1, 2))

    asyncio.run(story())

    assert numbers(files) == [1, 2]


def test_each_day_has_a_file_of_its_own(files: Files) -> None:
    async def story() -> None:
        tap = files.open()
        await tap.deliver((*events(1, 2), *events(3, 4, day=1)))
        await files.open().deliver((*events(3, 4, day=1), *events(5, 5, day=1)))

    asyncio.run(story())

    names = sorted(path.name for path in (files.folder / "events").iterdir())
    assert names == ["2025-10-14.ndjson", "2025-10-15.ndjson"]
    assert numbers(files) == [1, 2, 3, 4, 5]


def test_a_clock_that_steps_back_over_midnight_doubles_nothing(files: Files) -> None:
    async def story() -> None:
        await files.open().deliver((*events(1, 2, day=1), *events(3, 4)))
        await files.open().deliver(events(1, 5))

    asyncio.run(story())

    assert sorted(numbers(files)) == [1, 2, 3, 4, 5]


def test_two_taps_on_one_folder_write_each_event_once(files: Files) -> None:
    async def story() -> None:
        one, other = files.open(), files.open()
        for last in range(1, 20):
            await asyncio.gather(one.deliver(events(1, last)), other.deliver(events(1, last)))

    asyncio.run(story())

    assert numbers(files) == list(range(1, 20))


def test_a_folder_that_cannot_be_made_is_said_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file in the way")

    with pytest.raises(SinkError) as problem:
        asyncio.run(Files(tmp_path).open().deliver(events(1, 1)))

    assert problem.value.reason == "io-error"


def test_a_raw_copy_is_written_once_per_fetch_and_whole(tmp_path: Path) -> None:
    asked: list[str] = []

    async def read(fetch_id: str) -> bytes | None:
        asked.append(fetch_id)
        return None if fetch_id == "gone" else b"<rss/>"

    told = [
        event(1, raw_refs=[{"fetch_id": "f1"}]),
        event(2, raw_refs=[{"fetch_id": "f1"}]),
        event(3, raw_refs=[{"fetch_id": "gone"}]),
        event(4),
    ]

    async def story() -> None:
        for _ in range(2):
            copies = RawCopySink(tmp_path, read)
            await copies.deliver(told)
            await copies.close()

    asyncio.run(story())

    assert [path.name for path in (tmp_path / "raw" / "2025-10-14").iterdir()] == ["f1.blob"]
    assert (tmp_path / "raw" / "2025-10-14" / "f1.blob").read_bytes() == b"<rss/>"
    assert asked.count("f1") == 1


def test_a_raw_copy_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a file in the way")

    async def read(_: str) -> bytes:
        return b"x"

    with pytest.raises(SinkError):
        asyncio.run(RawCopySink(tmp_path, read).deliver([event(1, raw_refs=[{"fetch_id": "f"}])]))


def test_raw_copy_on_a_full_disk_names_the_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(_: str) -> bytes:
        return b"x"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SinkError) as caught:
        asyncio.run(RawCopySink(tmp_path, read).deliver([event(1, raw_refs=[{"fetch_id": "f"}])]))

    assert caught.value.reason == "disk-full"


def test_standard_output_is_written_to_by_default(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    asyncio.run(StdoutSink().deliver(events(1, 2)))

    assert len(capfdbinary.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("again_from", [3, 5], ids=["with the cursor before it", "of the batch"])
def test_lines_after_zeros_that_a_power_cut_left_are_written_again(
    files: Files, again_from: int
) -> None:
    """A write that was not synced may survive in parts: sectors in the middle are zeros."""

    async def story() -> None:
        await files.open().deliver(events(1, 8))
        path = files.folder / "events" / "2025-10-14.ndjson"
        lines = path.read_bytes().splitlines(keepends=True)
        torn = lines[4][:20] + bytes(len(lines[4]) - 30) + lines[4][-10:]
        path.write_bytes(b"".join([*lines[:4], torn, *lines[5:]]))
        await files.open().deliver(events(again_from, 9))

    asyncio.run(story())

    assert numbers(files) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
