"""Disks that are full, fail, flip bits or go away."""

import asyncio
import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import flock
from pathlib import Path
from threading import Event
from zlib import crc32

import pytest
from msgspec.structs import replace
from tests.support.blob_stores import (
    StillClock,
    digest_of,
    keep,
    names_in,
    noise,
    opened,
    successions,
    versions,
)
from tests.support.waiting import HANG_GUARD_SEC, wait_for_answer

from feedmill.adapters import files as durable_files
from feedmill.adapters.blobs.disk.folder import SegmentFolder
from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.blobs.record import write_header
from feedmill.adapters.blobs.sealed_segments import _records
from feedmill.adapters.clock import SystemClock
from feedmill.config import StoreConfig
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The system writes what fits and refuses the rest, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def no_more_files() -> Iterator[None]:
    """The system refuses to open anything."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """A disk that fails to sync."""

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(durable_files, "sync_data", fail)
        yield


async def test_a_full_disk_is_an_error_with_a_reason_and_works_again_when_space_returns(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as blobs:
        (before,) = await keep(blobs, [noise(10_000, "before")])
        with files_no_larger_than(20_000):
            for _ in range(3):
                with pytest.raises(BlobError, match="no space") as caught:
                    await keep(blobs, [noise(30_000, "too large")])
                assert caught.value.reason == "disk-full"
            (small,) = await keep(blobs, [noise(500, "small")])  # what fits still fits
            assert await blobs.get(before) == noise(10_000, "before")

        (after,) = await keep(blobs, [noise(30_000, "too large")])

        assert {ref.segment for ref in (before, small, after)} == {before.segment}
        assert await blobs.get(after) == noise(30_000, "too large")
        await blobs.seal()
        assert await blobs.verify([before, small, after]) == ()


async def test_a_disk_that_fills_up_in_a_group_keeps_none_of_it(tmp_path: Path) -> None:
    bodies = [noise(4_000, f"{number}") for number in range(20)]
    async with opened(tmp_path) as blobs:
        with files_no_larger_than(30_000):
            results = await asyncio.gather(
                *(blobs.put(body, sha256=digest_of(body)) for body in bodies),
                return_exceptions=True,
            )
        failures = [one for one in results if isinstance(one, BaseException)]
        kept = [one for one in results if not isinstance(one, BaseException)]
        assert failures
        assert {getattr(one, "reason", None) for one in failures} == {"disk-full"}

        again = await keep(blobs, bodies)
        assert [await blobs.get(ref) for ref in again] == bodies
        await blobs.seal()
        assert await blobs.verify([*again, *kept]) == ()


async def test_a_disk_that_fills_up_while_reencoding_leaves_everything_as_it_was(
    tmp_path: Path,
) -> None:
    bodies = [noise(20_000, f"{number}") for number in range(5)]
    async with opened(tmp_path) as blobs:
        refs = await keep(blobs, bodies)
        await blobs.seal()
        with files_no_larger_than(50_000), pytest.raises(BlobError) as caught:
            await blobs.reencode([(ref, None) for ref in refs])
        assert caught.value.reason == "disk-full"

        assert names_in(tmp_path) == [f"{refs[0].segment}.seg"]
        assert [await blobs.get(ref) for ref in refs] == bodies


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.EIO, "io-error"), (errno.ENOSPC, "disk-full")]
)
async def test_a_failed_sync_acknowledges_nothing_and_the_segment_is_not_trusted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    async with opened(tmp_path) as blobs:
        (before,) = await keep(blobs, [b"before"])
        with failing(monkeypatch, number):
            with pytest.raises(BlobError) as caught:
                await keep(blobs, [b"lost"])
            assert caught.value.reason == reason

        (after,) = await keep(blobs, [b"lost"])

        assert after.segment != before.segment
        assert [await blobs.get(ref) for ref in (before, after)] == [b"before", b"lost"]
        await blobs.seal()
        assert all(segment.sealed for segment in await blobs.segments())
        assert await blobs.verify([before, after]) == ()


async def test_a_segment_that_cannot_be_sealed_stays_readable_and_is_sealed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [b"body"])
        with failing(monkeypatch, errno.EIO), pytest.raises(BlobError):
            await blobs.seal()

        assert await blobs.get(ref) == b"body"
        (segment,) = await blobs.segments()
        assert segment.sealed
        assert await blobs.verify([ref]) == ()


async def test_recovery_that_fails_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [b"body"])
    path = tmp_path / f"{ref.segment}.seg"
    path.rename(path.with_suffix(".open"))

    with failing(monkeypatch, errno.EIO):
        blobs = await DiskBlobs.open(tmp_path, SystemClock())
    (recovered,) = blobs.recovered
    assert recovered.problem is not None
    assert "disk" in recovered.problem
    assert await blobs.get(ref) == b"body"
    assert (await blobs.segments())[0].sealed
    await blobs.close()


async def test_too_many_open_files_is_an_error_with_a_reason_and_passes(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [b"body"])
        await blobs.seal()
        with no_more_files():
            for attempt in (keep(blobs, [b"x"]), blobs.get(ref)):
                with pytest.raises(BlobError, match="ulimit") as caught:
                    await attempt
                assert caught.value.reason == "cannot-open"

        assert await blobs.get(ref) == b"body"
        assert await keep(blobs, [b"x"])


async def test_a_new_segment_taken_for_a_dead_one_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[int] = []

    def lock(file: int, how: int) -> None:
        locks.append(file)
        if len(locks) == 1:
            raise BlockingIOError
        flock(file, how)

    async with opened(tmp_path) as blobs:
        monkeypatch.setattr("fcntl.flock", lock)
        (ref,) = await keep(blobs, [b"body"])

        assert len(names_in(tmp_path)) == 2
        assert [one.name for one in await blobs.segments()] == [ref.segment]
        assert names_in(tmp_path) == [f"{ref.segment}.open"]
        assert await blobs.get(ref) == b"body"


async def test_a_segment_that_can_neither_be_written_nor_cut_is_left_for_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, _size: int) -> None:
        raise OSError(errno.EIO, "broken")

    async with opened(tmp_path) as blobs:
        (before,) = await keep(blobs, [b"before"])
        with files_no_larger_than(1_000), monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", refuse)
            with pytest.raises(BlobError):
                await keep(blobs, [noise(5_000)])
        (after,) = await keep(blobs, [noise(5_000)])

        assert after.segment != before.segment
        await blobs.seal()
        assert all(segment.sealed for segment in await blobs.segments())
        assert await blobs.verify([before, after]) == ()


async def test_a_prefix_that_is_not_earlier_in_the_segment_is_refused(tmp_path: Path) -> None:
    ref = BlobRef(
        sha256=digest_of(b"x"),
        segment="0000-packed",
        offset=0,
        length=113,
        coding="zstd-prefix",
        raw_length=1,
    )
    header = write_header(
        b"x", segment=ref.segment, sha256=ref.sha256, coding="zstd-prefix", raw_length=1, prefix=ref
    )
    (tmp_path / "0000-packed.seg").write_bytes(header + b"x")

    async with opened(tmp_path) as blobs:
        with pytest.raises(BlobError, match="prefix"):
            await blobs.get(ref)


async def test_large_bodies_are_reencoded_within_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.adapters.blobs.sealed_segments._KEPT_BYTES", 1_000_000)

    bodies = [noise(3_000_000, f"large {number}") for number in range(3)]
    async with opened(tmp_path) as blobs:
        refs = await keep(blobs, bodies)
        await blobs.seal()
        packed = await blobs.reencode(
            [(ref, refs[at - 1].sha256 if at else None) for at, ref in enumerate(refs)]
        )

        assert [await blobs.get(ref) for ref in packed] == bodies


def test_a_segment_that_vanishes_while_the_folder_is_listed_is_passed_over(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path)

    assert folder._segment(tmp_path / "0000.open") is None
    assert _records(folder, "0000", set()) == []
    folder.mark_for_deletion("0000", StillClock().now())
    assert names_in(tmp_path) == []
    with folder.abandoned("0000") as file:
        assert file is None


async def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    body = b"<rss>" + noise(60) + b"</rss>"
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [body])
        await blobs.seal()
        path = tmp_path / f"{ref.segment}.seg"
        sound = path.read_bytes()
        for at in range(len(sound)):
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 1 << at % 8]) + sound[at + 1 :])
            with pytest.raises(BlobError) as caught:
                await blobs.get(ref)
            assert caught.value.reason == "damaged", at
            (problem,) = await blobs.verify([ref])
            assert problem.fault == "damaged"


async def test_a_flipped_bit_in_a_prefix_is_noticed_in_every_body_that_leans_on_it(
    tmp_path: Path,
) -> None:
    bodies = versions("rotten", 3)
    async with opened(tmp_path) as blobs:
        refs = await keep(blobs, bodies)
        await blobs.seal()
        pairs = zip(refs, (before for _, before in successions([bodies])), strict=True)
        packed = await blobs.reencode(list(pairs))
        path = tmp_path / f"{packed[0].segment}.seg"
        data = bytearray(path.read_bytes())
        data[packed[1].offset + 200] ^= 4
        path.write_bytes(data)

        assert await blobs.get(packed[0]) == bodies[0]
        for ref in packed[1:]:
            with pytest.raises(BlobError, match="altered"):
                await blobs.get(ref)


async def test_a_cut_off_segment_is_noticed(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        first, second = await keep(blobs, [b"first", b"second"])
        await blobs.seal()
        os.truncate(tmp_path / f"{first.segment}.seg", second.offset + 50)

        assert await blobs.get(first) == b"first"
        (problem,) = await blobs.verify([first, second])
        assert (problem.fault, problem.sha256) == ("damaged", second.sha256)


async def test_a_file_under_a_wrong_name_is_noticed(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [b"body"])
        await blobs.seal()
        path = tmp_path / f"{ref.segment}.seg"
        path.rename(tmp_path / "0000.seg")

        problems = await blobs.verify([ref])
        assert {one.fault for one in problems} == {"missing", "damaged"}


async def test_things_that_are_not_ours_are_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        (tmp_path / "notes.txt").write_text("hello")
        (tmp_path / "folder.seg").mkdir()

        (ref,) = await keep(blobs, [b"ours"])
        problems = await blobs.verify([ref, replace(ref, segment="folder")])
        assert [(one.fault, one.segment) for one in problems] == [
            ("unreadable", "folder"),
            ("foreign", "folder.seg"),
            ("foreign", "notes.txt"),
        ]
        assert [one.name for one in await blobs.segments()] == [ref.segment]


async def test_a_segment_of_a_newer_version_is_neither_read_nor_cut(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        (ref,) = await keep(blobs, [b"future"])
    path = tmp_path / f"{ref.segment}.seg"
    data = bytearray(path.read_bytes())
    data[4] = 9
    data[108:112] = crc32(data[:108], crc32(ref.segment.encode())).to_bytes(4, "little")
    path.unlink()
    path.with_suffix(".open").write_bytes(data)

    blobs = await DiskBlobs.open(tmp_path, SystemClock())
    assert blobs.recovered[0].problem is not None
    assert "newer" in blobs.recovered[0].problem
    with pytest.raises(BlobError) as caught:
        await blobs.get(ref)
    assert caught.value.reason == "unknown-version"
    assert path.with_suffix(".open").read_bytes() == data
    path.with_suffix(".open").rename(path)
    (problem,) = await blobs.verify([])
    assert problem.fault == "unreadable"
    await blobs.close()


async def test_a_folder_that_vanished_is_an_error_with_a_reason(tmp_path: Path) -> None:
    async with opened(tmp_path / "raw") as blobs:
        (tmp_path / "raw").rmdir()

        for attempt in (keep(blobs, [b"x"]), blobs.segments(), blobs.drop("0000")):
            with pytest.raises(BlobError) as caught:
                await attempt
            assert caught.value.reason == "cannot-open"


async def test_a_file_in_the_way_of_the_folder_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("in the way")

    with pytest.raises(BlobError):
        await DiskBlobs.open(tmp_path / "raw" / "deeper", SystemClock())


async def test_an_idle_segment_is_sealed_when_it_gets_old(tmp_path: Path) -> None:
    config = StoreConfig(segment_age_sec=0.02)
    async with opened(tmp_path, SystemClock(), config) as blobs:
        (ref,) = await keep(blobs, [b"old"])

        await wait_for_answer(blobs.segments, lambda all_: all_[0].sealed, "a sealed segment")
        assert await blobs.get(ref) == b"old"


async def test_a_disk_that_hangs_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Event()

    monkeypatch.setattr("feedmill.adapters.blobs.disk.store.DISK_TIMEOUT_SEC", 0.05)
    async with opened(tmp_path) as blobs:
        with monkeypatch.context() as patch:
            patch.setattr(durable_files, "sync_data", lambda _: hanging.wait(HANG_GUARD_SEC))
            with pytest.raises(BlobError) as caught:
                await blobs.put(b"stuck", sha256=digest_of(b"stuck"), note=b"of one feed")
            assert caught.value.reason == "too-slow"
            hanging.set()

        # Its body is written all the same, and another feed brings it before the first one does again.
        assert isinstance(blobs, DiskBlobs)
        monkeypatch.setattr(blobs._writer, "_patience_sec", HANG_GUARD_SEC)
        await blobs.put(b"stuck", sha256=digest_of(b"stuck"), note=b"of another")
        name = await blobs.seal()
        notes = [one.note for one in await blobs.notes(str(name))]
        assert notes == [b"of one feed", b"of another"]
