"""Processes that die in the middle, and what the next one finds.

kill -9 shows that nothing depends on what a process still wanted to do; it does not show a power
cut, for which each acknowledgement waits for fdatasync and each new name for its folder's fsync.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import IO

import msgspec
import pytest
from tests.support.blob_stores import (
    Index,
    digest_of,
    keep,
    names_in,
    noise,
    opened,
    versions,
)
from tests.support.children.write_disk_blobs import body_of
from tests.support.warm_process import WarmPopen

from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.blobs.record import write_header
from feedmill.adapters.clock import SystemClock
from feedmill.config import StoreConfig
from feedmill.model.feed import BlobRef

_CHILD = Path(__file__).parents[5] / "tests/support/children/write_disk_blobs.py"


@contextmanager
def writing(folder: Path, name: str, segment_bytes: int = 1 << 26) -> Iterator[IO[bytes]]:
    """What another process has told; it is killed at the end."""
    command = [str(_CHILD), str(folder), name, str(segment_bytes)]
    with WarmPopen(command, stdout=PIPE) as child:
        assert child.stdout is not None
        try:
            yield child.stdout
        finally:
            child.kill()


def told(line: bytes) -> tuple[int, BlobRef]:
    return msgspec.json.decode(line, type=tuple[int, BlobRef])


def half_a_record(segment: str) -> bytes:
    body = noise(4000, "half")
    header = write_header(
        body, segment=segment, sha256=digest_of(body), coding="raw", raw_length=len(body)
    )
    return header + body[:2000]


def open_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.open"))


@pytest.mark.parametrize(
    ("acknowledged", "segment_bytes"), [(1, 1 << 26), (37, 1 << 26), (150, 1 << 20), (400, 1 << 18)]
)
async def test_whatever_was_acknowledged_before_a_kill_is_there_afterwards(
    tmp_path: Path, acknowledged: int, segment_bytes: int
) -> None:
    with writing(tmp_path, "victim", segment_bytes) as output:
        lines = [output.readline() for _ in range(acknowledged)]
    pairs = [told(line) for line in lines]

    async with opened(tmp_path) as blobs:
        for number, ref in pairs:
            assert await blobs.get(ref) == body_of("victim", number)
        assert open_files(tmp_path) == []
        problems = await blobs.verify([ref for _, ref in pairs])
        assert {problem.fault for problem in problems} <= {"orphan"}


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"\0" * 5000, id="zeros, as after a power cut"),
        pytest.param(noise(777), id="noise"),
        pytest.param(b"fmR", id="three bytes of a header"),
        pytest.param(b"half", id="half a record"),
    ],
)
async def test_a_torn_tail_is_cut_and_nothing_before_it(tmp_path: Path, tail: bytes) -> None:
    with writing(tmp_path, "torn") as output:
        pairs = [told(output.readline()) for _ in range(20)]
    (path,) = open_files(tmp_path)
    torn = half_a_record(path.stem) if tail == b"half" else tail
    with path.open("ab") as file:
        file.write(torn)

    blobs = await DiskBlobs.open(tmp_path, SystemClock())
    (recovered,) = blobs.recovered
    assert recovered.problem is None
    assert recovered.cut_bytes >= len(torn)
    for number, ref in pairs:
        assert await blobs.get(ref) == body_of("torn", number)
    problems = await blobs.verify([ref for _, ref in pairs])
    assert {problem.fault for problem in problems} <= {"orphan"}
    await blobs.close()

    again = await DiskBlobs.open(tmp_path, SystemClock())
    assert again.recovered == ()
    await again.close()


async def test_damage_in_the_middle_costs_one_body_and_none_behind_it(tmp_path: Path) -> None:
    with writing(tmp_path, "middle") as output:
        pairs = [told(output.readline()) for _ in range(20)]
    (path,) = open_files(tmp_path)
    spoiled = sorted(ref.offset for _, ref in pairs)[5]
    with path.open("r+b") as file:
        file.seek(spoiled + 50)
        file.write(b"\xff\xfe\xfd")

    async with opened(tmp_path) as blobs:
        problems = await blobs.verify([ref for _, ref in pairs])
        broken = [one for one in problems if one.fault != "orphan"]
        assert [(one.fault, one.offset) for one in broken] == [("damaged", spoiled)]


async def test_a_segment_in_which_nothing_was_finished_is_removed(tmp_path: Path) -> None:
    (tmp_path / "nothing.open").write_bytes(b"")
    (tmp_path / "little.open").write_bytes(b"fmRB and no more")

    async with opened(tmp_path) as blobs:
        assert await blobs.segments() == ()
    assert names_in(tmp_path) == []


async def test_a_living_process_is_left_alone_by_those_that_start(tmp_path: Path) -> None:
    with writing(tmp_path, "alive") as output:
        pairs = [told(output.readline()) for _ in range(30)]
        async with opened(tmp_path) as blobs:
            (theirs,) = {ref.segment for _, ref in pairs}
            (ours,) = await keep(blobs, [b"ours"])
            segments = {one.name: one.sealed for one in await blobs.segments()}
            assert segments == {theirs: False, ours.segment: False}
            assert await blobs.sweep(theirs, []) == "open"
            later = [told(output.readline()) for _ in range(200)]
            for number, ref in [*pairs, *later]:
                assert await blobs.get(ref) == body_of("alive", number)


async def test_the_segment_of_a_process_that_died_meanwhile_is_sealed_by_the_next_look(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as blobs:
        with writing(tmp_path, "dying") as output:
            pairs = [told(output.readline()) for _ in range(5)]

        (segment,) = await blobs.segments()
        assert segment.sealed
        for number, ref in pairs:
            assert await blobs.get(ref) == body_of("dying", number)


async def test_a_half_written_reencoding_leaves_the_old_bodies_in_charge(tmp_path: Path) -> None:
    bodies = versions("halfway", 4)
    async with opened(tmp_path) as blobs:
        index = Index(await keep(blobs, bodies))
        await blobs.seal()
        packed = await blobs.reencode([(ref, None) for ref in index.rows.values()])
    path = tmp_path / f"{packed[0].segment}.seg"  # as if it had died before the end
    path.write_bytes(path.read_bytes()[:-100])
    path.rename(path.with_suffix(".open"))

    async with opened(tmp_path, config=StoreConfig(segment_grace_sec=0)) as blobs:
        assert [await index.body(blobs, digest_of(body)) for body in bodies] == bodies
        assert await blobs.sweep(packed[0].segment, []) == "dropped"
        assert await blobs.verify(list(index.rows.values())) == ()
