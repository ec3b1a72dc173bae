"""A bus of every kind for one test: `bench` for all of them, `exact` for those without repetitions."""

from pathlib import Path

import pytest
from tests.support.buses_under_test import BUSES, BusBench
from tests.support.servers.free_port import free_port

EXACT = ["nats", "redis"]


@pytest.fixture(params=[*BUSES])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> BusBench:
    kind: str = request.param
    return BUSES[kind](tmp_path, request)


@pytest.fixture(params=EXACT)
def exact(request: pytest.FixtureRequest, tmp_path: Path) -> BusBench:
    kind: str = request.param
    return BUSES[kind](tmp_path, request)


@pytest.fixture
def unused_port() -> int:
    """A port of loopback at which nobody listens."""
    return free_port()
