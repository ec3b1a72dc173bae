"""Segments on local disk are filled before they are sealed; objects are sealed from the start."""

from pathlib import Path

from tests.support.blob_stores import keep, noise, opened

from feedmill.config import StoreConfig


async def test_the_segment_that_is_filled_is_open_until_it_is_sealed(tmp_path: Path) -> None:
    async with opened(tmp_path) as blobs:
        (before,) = await keep(blobs, [b"before"])
        await blobs.seal()
        (after,) = await keep(blobs, [b"after"])

        sealed = {one.name: one.sealed for one in await blobs.segments()}
        assert sealed == {before.segment: True, after.segment: False}


async def test_a_segment_that_is_filled_is_not_swept(tmp_path: Path) -> None:
    async with opened(tmp_path, config=StoreConfig(segment_grace_sec=0)) as blobs:
        (ref,) = await keep(blobs, [b"to be forgotten"])

        assert await blobs.sweep(ref.segment, []) == "open"
        await blobs.seal()
        assert await blobs.sweep(ref.segment, []) == "dropped"


async def test_a_segment_is_sealed_when_it_is_full(tmp_path: Path) -> None:
    async with opened(tmp_path, config=StoreConfig(segment_bytes=10_000)) as blobs:
        refs = [(await keep(blobs, [noise(3_000, f"{number}")]))[0] for number in range(9)]

        sealed = [segment for segment in await blobs.segments() if segment.sealed]
        assert len({ref.segment for ref in refs}) == 3
        assert len(sealed) >= 2
