"""The map of cells from the settings to a store that works."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.store.refreshes import NOON, new_feed
from tests.servers.postgres import PostgresServer

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.settings import load_config
from feedmill.adapters.store.cells import CellStore
from feedmill.adapters.store.opening import (
    apply_migrations,
    clock_of,
    missing_migrations,
    open_store,
)
from feedmill.errors import ConfigError, MigrationError


@pytest.fixture
def map_file(postgres: PostgresServer, tmp_path: Path) -> Iterator[Path]:
    """A secret file that names two databases without a table."""
    dsns = (postgres.create_database(), postgres.create_database())
    path = tmp_path / "cells"
    path.write_text(f"512-1023={dsns[0]}\n0-511={dsns[1]}\n", encoding="utf-8")
    yield path
    for dsn in dsns:
        postgres.drop_database(dsn)


def test_every_cell_is_migrated_and_opened(map_file: Path, tmp_path: Path) -> None:
    config = load_config(None, {"FEEDMILL_STORE_CELLS_FILE": str(map_file)})
    path = tmp_path / "unused.db"

    async def story() -> None:
        lacking = await missing_migrations(config, path)
        with pytest.raises(MigrationError):
            await open_store(config, path, NOON, schema="check")
        assert await apply_migrations(config, path, NOON) == lacking
        assert await missing_migrations(config, path) == ()

        store = await open_store(config, path, NOON, schema="check")

        assert isinstance(store, CellStore)
        async with clock_of(store, SystemClock()) as clock:
            assert clock.now() > NOON
        for number in range(8):
            await store.add_feed(new_feed(number))
        assert len((await store.feeds()).items) == 8
        await store.close()

    asyncio.run(story())
    assert not path.exists()


def test_a_store_that_may_migrate_does_it_by_itself(map_file: Path, tmp_path: Path) -> None:
    config = load_config(None, {"FEEDMILL_STORE_CELLS_FILE": str(map_file)})

    async def story() -> None:
        store = await open_store(config, tmp_path / "unused.db", NOON, schema="apply")
        assert await store.problems() == ()
        await store.close()

    asyncio.run(story())


def test_one_database_and_several_at_once_are_a_contradiction() -> None:
    with pytest.raises(ConfigError, match="url and cells are both given"):
        load_config(
            None,
            {
                "FEEDMILL_STORE_CELLS": "0-1023=postgresql://one/feedmill",
                "FEEDMILL_STORE_URL": "postgresql://two/feedmill",
            },
        )
