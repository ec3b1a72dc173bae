"""`visit` runs a story at a counter of its own; `mill` and `beside` are those of the command line."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.support.command_line import Mill, PublisherBeside
from tests.support.subscribe_harness import Story, opened
from tests.support.waiting import hang_guard

from feedmill_demo.server.server import Publisher


class Visit(Protocol):
    """Runs a story to its end."""

    def __call__(self, story: Story, **parts: Any) -> None: ...


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    """Run a story to its end, within its limit; the settings' parts can be given."""

    def run(story: Story, **parts: Any) -> None:
        async def told() -> None:
            async with hang_guard(), opened(tmp_path, **parts) as counter:
                await story(counter)

        asyncio.run(told())

    return run


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """A publisher of the test's own, in a thread, for commands to ask."""
    with PublisherBeside() as beside:
        yield beside.publisher


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
    monkeypatch.setattr(sys, "stdin", None)
    return Mill(tmp_path, monkeypatch, capfdbinary)
