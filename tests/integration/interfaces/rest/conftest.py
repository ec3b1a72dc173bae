"""Mills with an open door: an empty one for each test, and one with entries for all that only look."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.rest_client import RestMill

from feedmill.config import AccessConfig
from feedmill.model.feed import Feed
from feedmill_demo.server.script import document

OpenMill = Callable[..., RestMill]
# Tests ask quickly; the one about the pace asks for a pace.
HASTY = AccessConfig(requests_per_sec=0)


@pytest.fixture
def open_mill(tmp_path: Path) -> Iterator[OpenMill]:
    """Open a mill with these parts of the settings."""
    with ExitStack() as stack:

        def opening(**parts: Any) -> RestMill:
            return stack.enter_context(RestMill(tmp_path, **{"access": HASTY, **parts}))

        yield opening


@pytest.fixture
def mill(open_mill: OpenMill) -> RestMill:
    """A mill of one's own, empty."""
    return open_mill()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    """A mill that stays empty, for requests that must not change anything."""
    with RestMill(tmp_path_factory.mktemp("empty"), access=HASTY) as mill:
        yield mill


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    """A mill with one feed of three entries, one of which was revised; nobody changes it."""
    with RestMill(tmp_path_factory.mktemp("library"), access=HASTY) as mill:
        mill.tell(fill)
        yield mill


async def fill(stage: Stage) -> Feed:
    """Three entries, then another text of the second."""
    first = rss(item(1), item(2), item(3, title="Hard cheese"))
    second = rss(item(1), item(2, text="Revised."), item(3, title="Hard cheese"))
    feed = await stage.add("/feed", document(first), document(second))
    await stage.poll(feed)
    return await stage.poll(feed)
