"""Every kind of store, told the same stories."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from feedmill.adapters.store.sqlite import SqliteStore, in_memory_store
from feedmill.engine.ports import Store

Story = Callable[[Store], Awaitable[None]]
Tell = Callable[[Story], None]


async def _sqlite(request: pytest.FixtureRequest) -> Store:
    folder: Path = request.getfixturevalue("tmp_path")
    return await SqliteStore.open(folder / "store.db")


async def _memory(_: pytest.FixtureRequest) -> Store:
    return await in_memory_store()


async def _postgres(request: pytest.FixtureRequest) -> Store:
    from feedmill.adapters.store.postgres.store import PostgresStore

    return await PostgresStore.open(request.getfixturevalue("emptied_dsn"))


async def _cells(request: pytest.FixtureRequest) -> Store:
    from feedmill.adapters.store.cells import CellStore

    return await CellStore.open(request.getfixturevalue("cell_map"), connections=4)


# One line per implementation.
STORES: dict[str, Callable[[pytest.FixtureRequest], Awaitable[Store]]] = {
    "sqlite": _sqlite,
    "memory": _memory,
    "postgres": _postgres,
    "cells": _cells,
}


# What holds within one cell only, and what is promised instead (test_cells.py).
WITHIN_A_CELL = {
    # shards are not moved between databases: the address stays what it was
    "test_a_moved_feed_keeps_its_key_its_old_address_and_changes_its_lane",
    # a merge is one transaction, and there is none over two databases: it is refused
    "test_refreshes_under_way_are_fenced_off_except_in_the_lane_that_is_held",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what several cells do not promise; these stories have two hosts of two cells."""
    names = tuple(f"::{name}[cells]" for name in WITHIN_A_CELL)
    left_out = [item for item in items if item.nodeid.endswith(names)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(params=sorted(STORES))
def tell(request: pytest.FixtureRequest) -> Tell:
    """Tell a story to an empty store, check that it left the store healthy, and close it."""
    if request.param == "postgres":
        request.getfixturevalue("emptied_dsn")  # it has a loop of its own, before ours runs
    if request.param == "cells":
        request.getfixturevalue("cell_map")  # likewise

    async def told(story: Story) -> None:
        store = await STORES[request.param](request)
        try:
            await story(store)
            assert await store.problems() == ()
        finally:
            await store.close()

    return lambda story: asyncio.run(told(story))
