"""Bodies that travel together."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.waiting import HANG_GUARD_SEC, hang_guard, wait_until

from feedmill.adapters.blobs.bucket.store import UploadBatches
from feedmill.adapters.blobs.record import Item
from feedmill.adapters.clock import SystemClock
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef


class Shelf:
    """Keeps batches in a list; it can be held up, and it can fail."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.fails = False
        self.begun = 0

    def keep(self, bodies: Sequence[Item]) -> list[BlobRef]:
        self.begun += 1
        assert self.goes_on.wait(HANG_GUARD_SEC)
        if self.fails:
            reason, message = "unreachable", "nobody there"
            raise BlobError(reason, message)
        self.batches.append([item.sha256 for item in bodies])
        name = f"segment{len(self.batches)}"
        return [
            BlobRef(
                sha256=item.sha256, segment=name, offset=0, length=0, coding="raw", raw_length=0
            )
            for item in bodies
        ]


@asynccontextmanager
async def gathering(
    shelf: Shelf,
    *,
    batch_bytes: int = 1000,
    linger_sec: float = 0.001,
    remember_sec: float = 60,
    patience_sec: float = 20,
) -> AsyncIterator[UploadBatches]:
    batches = UploadBatches(
        shelf.keep,
        SystemClock(),
        batch_bytes=batch_bytes,
        linger_sec=linger_sec,
        remember_sec=remember_sec,
        patience_sec=patience_sec,
    )
    try:
        yield batches
    finally:
        shelf.goes_on.set()
        await batches.close()


def run(story: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with hang_guard():
            await story

    asyncio.run(limited())


async def put_all(batches: UploadBatches, names: Sequence[str], size: int = 1) -> list[BlobRef]:
    return list(await asyncio.gather(*(batches.put(Item(name, bytes(size))) for name in names)))


async def test_bodies_of_one_moment_make_one_batch() -> None:
    shelf = Shelf()
    async with gathering(shelf) as batches:
        await put_all(batches, "abcdef")

        assert shelf.batches == [list("abcdef")]


async def test_a_full_batch_does_not_wait_for_its_time() -> None:
    shelf = Shelf()
    async with gathering(shelf, linger_sec=3600) as batches:
        await put_all(batches, "abcd", size=500)

        assert shelf.batches == [["a", "b"], ["c", "d"]]


async def test_while_all_ways_are_taken_the_next_batch_grows() -> None:
    shelf = Shelf()
    async with gathering(shelf, linger_sec=0) as batches:
        shelf.goes_on.clear()
        tasks = []
        for number, name in enumerate("abcdefghij"):
            tasks.append(asyncio.create_task(batches.put(Item(name, b""))))
            await wait_until(lambda n=number: shelf.begun >= min(n + 1, 4), "a batch under way")  # type: ignore[misc]  # a closure over the turn
        shelf.goes_on.set()
        await asyncio.gather(*tasks)

        assert sorted(map(len, shelf.batches)) == [1, 1, 1, 1, 6]


async def test_the_same_body_travels_once() -> None:
    shelf = Shelf()
    async with gathering(shelf) as batches:
        at_once = await put_all(batches, "aaa")
        later = await put_all(batches, "aa")

        assert shelf.batches == [["a"]]
        assert len({ref.segment for ref in [*at_once, *later]}) == 1


async def test_a_failure_is_told_to_all_of_the_batch_and_to_nobody_else() -> None:
    shelf = Shelf()
    async with gathering(shelf) as batches:
        shelf.fails = True
        told = await asyncio.gather(
            *(batches.put(Item(name, b"")) for name in "abc"), return_exceptions=True
        )
        shelf.fails = False

        assert [getattr(one, "reason", None) for one in told] == ["unreachable"] * 3
        await put_all(batches, "abc")
        assert shelf.batches == [["a", "b", "c"]]


async def test_whoever_gives_up_takes_the_body_from_nobody() -> None:
    shelf = Shelf()
    async with gathering(shelf) as batches:
        shelf.goes_on.clear()
        one, other = (asyncio.create_task(batches.put(Item("a", b""))) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        shelf.goes_on.set()

        assert (await other).segment == "segment1"
        assert one.cancelled()


async def test_a_failure_after_everybody_has_given_up_is_no_noise() -> None:
    shelf, noise = Shelf(), list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: noise.append(what))
    async with gathering(shelf) as batches:
        shelf.fails = True
        shelf.goes_on.clear()
        task = asyncio.create_task(batches.put(Item("a", b"")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    assert noise == []


async def test_a_store_that_hangs_is_not_waited_for_for_ever() -> None:
    shelf = Shelf()
    async with gathering(shelf, patience_sec=0.05) as batches:
        shelf.goes_on.clear()
        with pytest.raises(BlobError) as caught:
            await batches.put(Item("a", b""))

        assert caught.value.reason == "too-slow"


async def test_only_the_latest_bodies_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.blobs.bucket.store._REMEMBERED", 3)

    shelf = Shelf()
    async with gathering(shelf) as batches:
        await put_all(batches, "abcd")
        await put_all(batches, "ad")

        assert shelf.batches == [list("abcd"), ["a"]]


async def test_closing_sends_off_what_is_gathered() -> None:
    shelf = Shelf()
    async with gathering(shelf, linger_sec=3600) as batches:
        task = asyncio.create_task(batches.put(Item("a", b"")))
        await asyncio.sleep(0)
        await batches.close()

        assert (await task).segment == "segment1"
        for late in (batches.put(Item("b", b"")), batches.seal()):
            with pytest.raises(BlobError, match="closed"):
                await late
