"""Large documents of several hosts that come at once wait for each other, and none is lost (D40)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, opened
from tests.support.feed_documents import item, rss

from feedmill.engine.run.memory_budget import SMALL_BYTES
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
def test_large_documents_of_all_lanes_share_one_budget(
    tmp_path: Path, codings: tuple[ContentCoding, ...]
) -> None:
    async def story() -> None:
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

    asyncio.run(story())
