"""Every page in Chromium: no errors, no policy violations, accessible, in both themes and on a phone."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import Watched
from tests.support.console_client import ConsoleMill

Place = str | tuple[str, ...]
PAGES: tuple[Place, ...] = (
    "/",
    "/?span=week",
    "/?span=month",
    "/console/feeds",
    "/console/feeds?order=failures&down=1",
    "/console/hosts",
    "/console/entries",
    "/console/articles",
    "/console/review",
    "/console/log",
    "/console/webhooks",
    "/console/workers",
    "/console/jobs",
    "/console/tokens",
    "/console/simulate?policy=seed&text=harbour",
    "/console/nothing",
)
# Pages of one thing, found by a link on a list.
LINKED: tuple[Place, ...] = (
    ("/console/feeds", r"/console/feeds/[0-9a-f-]{20,}"),
    ("/console/feeds", r"/console/feeds/[0-9a-f-]{20,}", "/entries"),
    ("/console/feeds", r"/console/feeds/[0-9a-f-]{20,}", "/fetches"),
    ("/console/entries", r"/console/entries/[^\"?]+"),
    ("/console/hosts", r"/console/hosts/[^\"?]+"),
    ("/console/webhooks", r"/console/webhooks/[^\"?]+"),
    ("/console/review", r"/console/review/windows/[^\"?]+"),
    ("/console/log", r"/console/entries/[^\"?]+"),
)


def address(mill: ConsoleMill, place: Place) -> str:
    """The address of a page, or of the first one that a list links to."""
    if isinstance(place, str):
        return mill.base + place
    listed, pattern, *more = place
    body = mill.browser().open(listed).body.decode()
    found = re.search(rf'href="({pattern})"', body)
    assert found is not None, place
    return mill.base + found[1] + "".join(more)


def open_safely(page: Page, url: str) -> None:
    answer = page.goto(url, wait_until="load")
    assert answer is not None
    assert answer.status == (404 if url.endswith("/nothing") else 200)


@pytest.mark.parametrize("place", [*PAGES, *LINKED], ids=str)
def test_page_is_accessible_and_breaks_no_rule(
    mill: ConsoleMill, watched: Watched, place: Place
) -> None:
    page = watched()

    if place == "/console/nothing":  # Chromium reports any 404 as an error of its own
        page = watched(extra_http_headers={})
        page.context.route(
            "**/nothing", lambda route: route.fulfill(response=route.fetch(), status=200)
        )
        page.goto(address(mill, place))
    else:
        open_safely(page, address(mill, place))

    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(
    mill: ConsoleMill, watched: Watched, theme: str, width: int
) -> None:
    page = watched(viewport={"width": width, "height": 844}, color_scheme=theme)

    for place in [*PAGES[:-1], *LINKED]:
        open_safely(page, address(mill, place))
        wider = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wider == 0, place


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_themes(
    mill: ConsoleMill, watched: Watched, theme: str
) -> None:
    page = watched(color_scheme=theme)

    for place in ("/", "/console/feeds", *LINKED[:1]):
        open_safely(page, address(mill, place))
        options = {"runOnly": ["color-contrast"]}
        assert Axe().run(page, options=options).response["violations"] == []


def test_hostile_titles_and_content_execute_nothing(mill: ConsoleMill, watched: Watched) -> None:
    page = watched()

    for place in [*PAGES[:-1], *LINKED]:
        open_safely(page, address(mill, place))
        for frame in page.frames:
            assert frame.evaluate("window.pwned === undefined")
    entries = mill.browser().open("/console/entries").body.decode()
    for path in re.findall(r'href="(/console/entries/[^"]+)"', entries):
        open_safely(page, mill.base + path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.pwned === undefined")


def test_pages_work_without_javascript(mill: ConsoleMill, watched: Watched) -> None:
    page = watched(java_script_enabled=False)

    for place in [*PAGES[:-1], *LINKED]:
        open_safely(page, address(mill, place))
        assert page.locator("h1").count() == 1
    page.goto(f"{mill.base}/console/feeds")
    page.get_by_label("Title or address").fill("harbour")
    page.get_by_role("button", name="Show").click()
    assert "1 feed" in page.locator("main").inner_text()


def test_the_first_tab_skips_to_the_content(mill: ConsoleMill, watched: Watched) -> None:
    page = watched()
    page.goto(f"{mill.base}/console/feeds")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.closest('main') !== null")
