"""`serve` opens a mill, its gRPC door and a visitor."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine_harness import Stage, opened
from tests.support.grpc_client import Visitor, visiting
from tests.support.waiting import hang_guard

from feedmill.interfaces.grpc.server import grpc_server

Serve = Callable[..., AbstractAsyncContextManager[tuple[Stage, Visitor]]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Open them within a limit; the settings' parts can be given."""

    @asynccontextmanager
    async def serving(**parts: Any) -> AsyncIterator[tuple[Stage, Visitor]]:
        async with (
            hang_guard(),
            opened(tmp_path, **parts) as stage,
            grpc_server(stage.services) as bound,
            visiting(bound.port) as visitor,
        ):
            yield stage, visitor

    return serving
