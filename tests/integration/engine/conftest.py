"""`play` runs a story on a stage of its own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.integration.engine.stage import Play, Story, opened

_LIMIT_SEC = 30.0


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run a story to its end, within its limit; the settings' parts can be given."""

    def run(story: Story, **parts: Any) -> None:
        async def told() -> None:
            async with asyncio.timeout(_LIMIT_SEC), opened(tmp_path, **parts) as stage:
                await story(stage)

        asyncio.run(told())

    return run
