"""Large documents of several hosts that come at once are read one after the other (D40)."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, opened
from tests.support.feed_documents import item, rss

from feedmill.engine.run.memory_budget import COST_FACTOR, SMALL_BYTES
from feedmill_demo.server.script import document

HOSTS = 4


class CountingStore:
    """The real store; it notes how much of the budget is taken at each commit."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.memory: Any = None
        self.used: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, refresh: Any) -> Any:
        self.used.append(self.memory.used_bytes)
        return await self._store.commit(refresh)


def test_large_documents_of_all_lanes_share_one_budget(tmp_path: Path) -> None:
    async def story() -> None:
        body = rss(item(1), extra=f"<!--{'x' * (SMALL_BYTES + 100_000)}-->")
        cost = len(body) * COST_FACTOR
        async with opened(tmp_path, addresses=HOSTS, run=replace(PLAIN.run, memory_mb=1)) as stage:
            for number in range(1, HOSTS + 1):
                await stage.add("/large", document(body), host=f"127.0.1.{number}")
            store: Any = CountingStore(stage.services.store)
            store.memory = stage.services.memory
            stage.services = stage.services._replace(store=store)

            assert await stage.pass_once() == HOSTS

            assert store.used == [cost] * HOSTS
            assert store.memory.used_bytes == 0

    asyncio.run(story())
