"""Large documents of several hosts that come at once wait for each other, and none is lost (D40)."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, SteppedClock, opened
from tests.support.feed_documents import item, rss
from tests.support.waiting import wait_until

from feedmill.engine.run.memory_budget import MAX_LARGE_POLLS, SMALL_BYTES
from feedmill.engine.service.subscriptions import import_list
from feedmill_demo.server.script import ContentCoding, document

HOSTS = 4


class CountingStore:
    """The real store; it notes at each commit what large bodies hold, and whether one is being read."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.memory: Any = None
        self.used: list[tuple[bool, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, refresh: Any) -> Any:
        self.used.append((self.memory.turn.locked(), self.memory.body_bytes))
        return await self._store.commit(refresh)


@pytest.mark.parametrize("codings", [(), ("gzip",)], ids=["plain", "gzip bomb"])
async def test_large_documents_of_all_lanes_share_one_budget(
    tmp_path: Path, codings: tuple[ContentCoding, ...]
) -> None:
    body = rss(item(1), extra=f"<!--{'x' * (3 * SMALL_BYTES)}-->")
    async with opened(tmp_path, addresses=HOSTS, run=replace(PLAIN.run, memory_mb=1)) as stage:
        for number in range(1, HOSTS + 1):
            answer = document(body, codings=codings)
            await stage.add("/large", answer, host=f"127.0.1.{number}")
        store: Any = CountingStore(stage.services.store)
        store.memory = stage.services.memory
        stage.services = stage.services._replace(store=store)

        assert await stage.pass_once() == HOSTS

        # Beside the oldest body no other one grows beyond what never waits; each arrives whole.
        assert store.used == [(True, len(body))] * HOSTS
        assert len(await stage.entries(duplicates="include")) == HOSTS
        assert store.memory.body_bytes == 0


LARGE_FEED = rss(item(1), extra=f"<!--{'x' * (2 * SMALL_BYTES)}-->")


class HastyClock(SteppedClock):
    """The monotonic clock can be set forward."""

    ahead_sec = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_sec


async def test_lease_is_renewed_while_a_large_document_waits_for_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, renewed = HastyClock(), list[bool]()
    async with opened(tmp_path, clock=clock) as stage:
        feed = await stage.add("/large", document(LARGE_FEED))
        store, memory = stage.services.store, stage.services.memory
        assert memory is not None
        claim, renew = store.claim, store.renew

        async def claim_slowly(*given: Any, **named: Any) -> Any:
            claims = await claim(*given, **named)
            clock.ahead_sec += stage.config.run.lease_sec / 3
            return claims

        async def note_renewal(*given: Any, **named: Any) -> bool:
            renewed.append(await renew(*given, **named))
            return renewed[-1]

        monkeypatch.setattr(store, "claim", claim_slowly)
        monkeypatch.setattr(store, "renew", note_renewal)
        with memory.share("other") as other:
            await other.take_for(2 * SMALL_BYTES)
            passing = asyncio.create_task(stage.pass_once())
            await wait_until(lambda: bool(renewed), "the lease is renewed")

        assert await passing == 1
        assert all(renewed)  # the clock goes ahead with every claim, and there may be several
        assert [one.outcome for one in await stage.fetches(feed)] == ["fresh"]


async def test_lane_that_waits_with_a_large_document_takes_no_other_place(tmp_path: Path) -> None:
    alone = replace(PLAIN.run, concurrency=1)
    async with opened(tmp_path, addresses=2, run=alone) as stage:
        large = await stage.add("/large", document(LARGE_FEED), host="127.0.1.1")
        stage.later(seconds=1)
        small = await stage.add("/small", document(rss(item(2))), host="127.0.1.2")
        memory = stage.services.memory
        assert memory is not None
        with memory.share("other") as other:
            await other.take_for(2 * SMALL_BYTES)
            passing = asyncio.create_task(stage.pass_once())
            await wait_until(lambda: len(stage.done) == 1, "the small feed is polled")

        assert await passing == 2
        assert [one.feed.id for one in stage.done] == [small.id, large.id]


async def test_feed_that_is_known_to_be_large_is_asked_later_while_many_are_under_way(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, addresses=2) as stage:
        large = await stage.add("/large", document(LARGE_FEED), host="127.0.1.1")
        small = await stage.add("/small", document(rss(item(2))), host="127.0.1.2")
        await stage.poll(large, small)
        memory = stage.services.memory
        assert memory is not None
        async with AsyncExitStack() as held:
            for _ in range(MAX_LARGE_POLLS):
                share = held.enter_context(memory.share("other"))
                share.may_grow(2 * SMALL_BYTES, lambda: None)
            await stage.poll(large, small)
            asked = len(stage.publisher.requests_to("/large"))
            wait = await stage.wait_until_due(large)
        stage.later(seconds=15)
        polled = await stage.pass_once()

        assert asked == 1
        assert wait == timedelta(seconds=15)
        assert polled == 1
        assert len(await stage.fetches(small)) == 2


async def test_large_list_of_a_client_waits_while_a_large_document_is_read(tmp_path: Path) -> None:
    listed = b'<opml version="2.0"><body><outline xmlUrl="https://one.example/feed"/></body></opml>'

    async with opened(tmp_path) as stage:
        services, memory = stage.services, stage.services.memory
        assert memory is not None
        with memory.share("other") as other:
            await other.take_for(2 * SMALL_BYTES)
            padded = listed + b"<!--" + b"x" * SMALL_BYTES + b"-->"
            waiting = asyncio.create_task(import_list(padded, services))
            small = await import_list(listed, services)
            is_waiting = not waiting.done()
        large = await waiting

        assert is_waiting
        assert (small.added, large.existing) == (1, 1)
        assert not memory.turn.locked()
