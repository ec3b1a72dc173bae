"""Every kind of store, told the same stories."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from feedmill.adapters.store.sqlite import SqliteStore, in_memory_store
from feedmill.engine.ports import Store

Story = Callable[[Store], Awaitable[None]]
Tell = Callable[[Story], None]


async def _sqlite(folder: Path) -> Store:
    return await SqliteStore.open(folder / "store.db")


async def _memory(_: Path) -> Store:
    return await in_memory_store()


# One line per implementation.
STORES: dict[str, Callable[[Path], Awaitable[Store]]] = {"sqlite": _sqlite, "memory": _memory}


@pytest.fixture(params=sorted(STORES))
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Tell a story to an empty store, check that it left the store healthy, and close it."""

    async def told(story: Story) -> None:
        store = await STORES[request.param](tmp_path)
        try:
            await story(store)
            assert await store.problems() == ()
        finally:
            await store.close()

    return lambda story: asyncio.run(told(story))
