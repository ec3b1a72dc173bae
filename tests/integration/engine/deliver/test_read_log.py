"""The bell rings for everybody who waits, once, and lets nobody wait for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.engine_harness import Play, Stage
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.engine.deliver.read_log import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import StoreError


@asynccontextmanager
async def ringing(stage: Stage) -> AsyncIterator[tuple[LogNotifier, Lifecycle]]:
    watch = stage.watch()
    bell = LogNotifier(stage.services.store, watch, every_sec=0.01)
    async with asyncio.TaskGroup() as group:
        group.create_task(bell.run())
        yield bell, watch
        watch.stop()


def test_everybody_who_waits_hears_of_a_new_event(play: Play) -> None:
    async def story(stage: Stage) -> None:
        async with ringing(stage) as (bell, _):
            waiting = [
                asyncio.create_task(bell.wait_past(0, timeout_sec=HANG_GUARD_SEC))
                for _ in range(50)
            ]
            await asyncio.sleep(0)
            await subscribe_unchecked("https://paper.example/feed", stage.services)

            assert await asyncio.gather(*waiting) == [True] * 50
            assert await bell.wait_past(0, timeout_sec=0)
            assert not await bell.wait_past(1, timeout_sec=0.01)

    play(story)


def test_who_waits_is_let_go_when_the_run_ends(play: Play) -> None:
    async def story(stage: Stage) -> None:
        async with ringing(stage) as (bell, watch):
            waiting = asyncio.create_task(bell.wait_past(0, timeout_sec=HANG_GUARD_SEC))
            await asyncio.sleep(0)
            watch.stop()

            assert not await waiting

    play(story)


def test_a_store_in_trouble_is_looked_at_again(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        calls = 0

        async def last_seq() -> int:
            nonlocal calls
            calls += 1
            if calls < 3:
                message = "held"
                raise StoreError(message, reason="busy")
            return 7

        monkeypatch.setattr(stage.services.store, "last_seq", last_seq)
        async with ringing(stage) as (bell, _):
            assert await bell.wait_past(6, timeout_sec=HANG_GUARD_SEC)
        assert calls == 3

    play(story)


def test_nobody_looks_while_nobody_waits(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        looks: list[int] = []

        async def last_seq() -> int:
            looks.append(1)
            return 1

        monkeypatch.setattr(stage.services.store, "last_seq", last_seq)
        async with ringing(stage) as (bell, _):
            for _ in range(10):
                await asyncio.sleep(0)
            before = len(looks)
            assert await bell.wait_past(0, timeout_sec=HANG_GUARD_SEC)

        assert before == 0

    play(story)
