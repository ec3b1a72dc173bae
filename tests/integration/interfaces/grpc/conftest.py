"""`serve` runs a story with a mill, its gRPC door and a visitor."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine_harness import Stage, opened
from tests.support.grpc_client import Visitor, visiting
from tests.support.waiting import hang_guard

from feedmill.interfaces.grpc.server import grpc_server

Serve = Callable[..., None]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Run a story to its end, within its limit; the settings' parts can be given."""

    def run(story: Callable[[Stage, Visitor], Awaitable[None]], **parts: Any) -> None:
        async def play() -> None:
            async with (
                hang_guard(),
                opened(tmp_path, **parts) as stage,
                grpc_server(stage.services) as bound,
                visiting(bound.port) as visitor,
            ):
                await story(stage, visitor)

        asyncio.run(play())

    return run
