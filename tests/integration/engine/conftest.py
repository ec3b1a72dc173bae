"""`play` runs a story on a stage of its own: once on SQLite, once on PostgreSQL."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.engine_harness import Play, Story, opened
from tests.support.servers.databases import run_story
from tests.support.waiting import hang_guard


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    """Where the stage's store is; None for the file in its folder."""
    if request.param == "sqlite":
        return None
    dsn: str = request.getfixturevalue("emptied_dsn")
    return dsn


@pytest.fixture
def play(tmp_path: Path, store_url: str | None) -> Play:
    """Run a story to its end, within its limit; the settings' parts can be given."""

    def run(story: Story, **parts: Any) -> None:
        async def told() -> None:
            stage_of = opened(tmp_path, store_url=store_url, **parts)
            async with hang_guard(), stage_of as stage:
                await story(stage)

        run_story(told(), store_url)

    return run
