"""Mills with a console: an empty one for each test, and one with entries for all that only look."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.console_client import Browser, ConsoleMill
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss

from feedmill.config import AccessConfig
from feedmill_demo.server.script import document

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


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleMill]:
    """A mill with two feeds, one of which carries the same article, for tests that only look."""
    with ConsoleMill(tmp_path_factory.mktemp("busy"), access=HASTY) as mill:
        mill.tell(_publish)
        yield mill


async def _publish(stage: Stage) -> None:
    hostile = "<p>Fine <img src='http://127.0.0.1:9/x.png' onerror='alert(1)'><script>alert(2)</script></p>"
    first = rss(item(1), item(2, text=hostile), extra="<ttl>60</ttl>")
    changed = rss(item(2, text=hostile), item(1, text="Another text."), item(3))
    paper = await stage.add("/paper", document(first), document(changed))
    mirror = await stage.add("/mirror", document(rss(item(1)).replace(b"Paper", b"Mirror")))
    page = await stage.add("/page", document(b"<html><title>Hi</title><body>no feed</body></html>"))
    await stage.poll(paper, mirror, page)
    await stage.poll(paper)
