"""Mills with a console: an empty one for each test, and one with entries for all that only look."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.console_client import Browser, ConsoleMill

from feedmill.config import AccessConfig

OpenMill = Callable[..., ConsoleMill]
HASTY = AccessConfig(requests_per_sec=0)


@pytest.fixture
def open_mill(tmp_path: Path) -> Iterator[OpenMill]:
    """Open a mill with these parts of the settings."""
    with ExitStack() as stack:

        def opening(**parts: Any) -> ConsoleMill:
            return stack.enter_context(ConsoleMill(tmp_path, **{"access": HASTY, **parts}))

        yield opening


@pytest.fixture
def mill(open_mill: OpenMill) -> ConsoleMill:
    """A mill of one's own, empty."""
    return open_mill()


@pytest.fixture
def browser(mill: ConsoleMill) -> Browser:
    """A browser of the empty mill."""
    return mill.browser()
