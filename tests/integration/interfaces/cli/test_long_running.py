"""The beginning of a role waits for its store; nothing that only looks at the store holds up its end."""

import asyncio
from pathlib import Path

import pytest
from tests.support.servers.free_port import free_port
from tests.support.waiting import hang_guard

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import StoreError
from feedmill.interfaces.cli.long_running import open_services_when_ready, role_services
from feedmill.observe.metrics import Metrics

AWAY, DAMAGED = "the server ended the connection", "a page is damaged"


@pytest.mark.parametrize("question", ["counts", "due_lanes"])
async def test_a_role_ends_while_its_store_thinks_about_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """A large store counts for a minute; whoever stops a container waits for ten seconds."""
    is_asked = asyncio.Event()

    async def think(*_: object) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    config = Config(store=StoreConfig(home=str(tmp_path / "home")))
    async with hang_guard(), open_services(config) as services:
        monkeypatch.setattr(SqliteStore, question, think)
        watch = Lifecycle("me")
        async with role_services(services, watch, "worker", Metrics(), metrics_port=free_port()):
            await is_asked.wait()


def test_database_that_goes_away_while_a_role_starts_is_waited_for(
    tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was restarted between the opening of the store and the first question to it."""
    asked = []

    async def ask(*_: object) -> None:
        asked.append("secret key")
        if len(asked) == 1:
            raise StoreError(AWAY, reason="unreachable")

    async def story() -> None:
        store = StoreConfig(home=str(tmp_path / "home"), url=postgres_dsn)
        async with hang_guard(), open_services_when_ready(Config(store=store), "apply") as services:
            assert await services.store.counts() is not None

    monkeypatch.setattr("feedmill.app.services.check_secret_key", ask)

    asyncio.run(story())

    assert len(asked) == 2


def test_damaged_database_ends_a_role_that_starts(
    tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(*_: object) -> None:
        raise StoreError(DAMAGED, reason="corrupt")

    async def story() -> None:
        store = StoreConfig(home=str(tmp_path / "home"), url=postgres_dsn)
        async with hang_guard(), open_services_when_ready(Config(store=store), "apply"):
            pass

    monkeypatch.setattr("feedmill.app.services.check_secret_key", ask)

    with pytest.raises(StoreError, match="damaged"):
        asyncio.run(story())
