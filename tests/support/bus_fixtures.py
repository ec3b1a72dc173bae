"""A bus of every kind for one test: `bench` for all of them, `exact` for those without repetitions."""

import socket
from pathlib import Path

import pytest
from tests.support.buses_under_test import BUSES, BusBench

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
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port
