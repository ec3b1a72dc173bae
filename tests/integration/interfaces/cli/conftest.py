"""A mill in a folder of its own, and one publisher on loopback for the whole session."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import Mill, PublisherBeside

from feedmill_demo.server.server import Publisher


@pytest.fixture(scope="session")
def beside() -> Iterator[PublisherBeside]:
    """The publisher in a thread of its own; it serves the village and what tests script."""
    with PublisherBeside() as publisher:
        yield publisher


@pytest.fixture
def publisher(beside: PublisherBeside) -> Publisher:
    """The publisher that tests put their answers up on; each test uses paths of its own."""
    return beside.publisher


@pytest.fixture
def mill(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Mill:
    """The command line in a fresh folder, polite without waiting."""
    monkeypatch.chdir(tmp_path)
    for name, value in Mill.environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdin", None)
    return Mill(tmp_path, monkeypatch, capfdbinary)
