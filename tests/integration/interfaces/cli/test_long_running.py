"""The end of a role: nothing that only looks at the store may hold it up."""

import asyncio
from pathlib import Path

import pytest
from tests.support.servers.free_port import free_port
from tests.support.waiting import hang_guard

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.cli.long_running import role_services
from feedmill.observe.metrics import Metrics


@pytest.mark.parametrize("question", ["counts", "due_lanes"])
def test_a_role_ends_while_its_store_thinks_about_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """A large store counts for a minute; whoever stops a container waits for ten seconds."""
    is_asked = asyncio.Event()

    async def think(*_: object) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    async def story() -> None:
        config = Config(store=StoreConfig(home=str(tmp_path / "home")))
        async with hang_guard(), open_services(config) as services:
            monkeypatch.setattr(SqliteStore, question, think)
            watch = Lifecycle("me")
            async with role_services(
                services, watch, "worker", Metrics(), metrics_port=free_port()
            ):
                await is_asked.wait()

    asyncio.run(story())
