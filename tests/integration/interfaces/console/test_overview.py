"""Overview: charts, service levels, and what needs attention in words."""

import asyncio

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage

from feedmill.interfaces.console.pages.overview import OverviewCache


def test_the_five_dashboards_and_the_service_levels_are_shown(busy: ConsoleMill) -> None:
    page = busy.browser().open("/")

    words = text_of(page)
    assert "2 well 1 backing off" in words
    assert page.body.count(b"<svg") == 3
    assert "Most new entries" in words
    assert "html-page 200" in words  # the top error
    assert "feeds were polled within twice their interval (target 95%)" in words
    assert "what the server sends cannot be read as a feed" in words


@pytest.mark.parametrize("span", ["week", "month", "nonsense"])
def test_other_ranges_are_shown_too(busy: ConsoleMill, span: str) -> None:
    page = busy.browser().open(f"/?span={span}")

    assert page.status == 200
    assert page.body.count(b'aria-current="page"') == 2  # in the navigation, and the range


def test_an_engine_without_feeds_has_an_overview(browser: Browser) -> None:
    words = text_of(browser.open("/"))

    assert "There is no feed yet. Add or import feeds" in words
    assert "0 well none yet" in words
    assert "no figures yet" in words


def test_feeds_that_nothing_polls_need_attention(mill: ConsoleMill, browser: Browser) -> None:
    async def story(stage: Stage) -> None:
        await stage.add("/feed")
        stage.later(hours=1)

    mill.tell(story)

    words = text_of(browser.open("/"))
    assert "Nothing polls: feeds are due" in words
    assert "0 well 1 not polled yet" in words


def test_figures_are_kept_for_a_moment_and_made_by_one_request_at_a_time(
    busy: ConsoleMill,
) -> None:
    async def story(stage: Stage) -> None:
        cache = OverviewCache()
        first, second = await asyncio.gather(
            cache.make("day", stage.services), cache.make("day", stage.services)
        )
        kept, is_old = await cache.get("day", stage.services)

        assert first is second is kept
        assert not is_old

    busy.tell(story)
