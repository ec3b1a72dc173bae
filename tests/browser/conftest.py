"""A real, headless Chromium in front of a mill with a console; `make test-browser` runs these tests.

Chromium is the system's: nothing is downloaded. Without one, every test fails and says how to install it.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from feedmill.config import AccessConfig
from tests.support.console_client import ConsoleMill
from tests.support.console_scene import set_scene

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)
Watched = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; each has a context of its own."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("no Chromium was found; on Debian and Ubuntu: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleMill]:
    """A mill with something on every page, hostile titles included."""
    hasty = AccessConfig(requests_per_sec=0)
    with ConsoleMill(tmp_path_factory.mktemp("console"), access=hasty) as opened:
        opened.tell(set_scene)
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[ConsoleMill]:
    """A mill of one's own, empty."""
    with ConsoleMill(tmp_path, access=AccessConfig(requests_per_sec=0)) as opened:
        yield opened


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    """Make pages whose errors, dialogs and policy violations fail the test."""
    problems: list[str] = []
    contexts = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.type}: {message.text}")

    def open_page(**settings: Any) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
