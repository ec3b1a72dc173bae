"""Every kind of store, told the same stories."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.servers.databases import problems_of, run_story

from feedmill.adapters.store.sqlite.connection import MEMORY
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.ports.store import Store

Story = Callable[[Store], Awaitable[None]]
Tell = Callable[[Story], None]


async def _sqlite(request: pytest.FixtureRequest) -> Store:
    folder: Path = request.getfixturevalue("tmp_path")
    return await SqliteStore.open(folder / "store.db")


async def _memory(_: pytest.FixtureRequest) -> Store:
    return await SqliteStore.open(MEMORY)


async def _postgres(request: pytest.FixtureRequest) -> Store:
    from feedmill.adapters.store.postgres.store import PostgresStore

    return await PostgresStore.open(request.getfixturevalue("emptied_dsn"))


# One line per implementation.
STORES: dict[str, Callable[[pytest.FixtureRequest], Awaitable[Store]]] = {
    "sqlite": _sqlite,
    "memory": _memory,
    "postgres": _postgres,
}


@pytest.fixture(params=sorted(STORES))
def tell(request: pytest.FixtureRequest) -> Tell:
    """Tell a story to an empty store, check that it left the store healthy, and close it."""
    # Emptied before the story's event loop runs.
    dsn = request.getfixturevalue("emptied_dsn") if request.param == "postgres" else None

    async def told(story: Story) -> None:
        store = await STORES[request.param](request)
        try:
            await story(store)
            assert await problems_of(store, dsn) == ()
        finally:
            await store.close()

    return lambda story: run_story(told(story), dsn)
