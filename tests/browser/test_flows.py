"""The main flows of an operator in Chromium: each begins and ends in the browser."""

import re

from playwright.sync_api import Browser, Route, expect

from feedmill_demo.server.script import document
from tests.browser.conftest import Watched
from tests.support.console_client import ConsoleMill
from tests.support.console_scene import bury_letter, hold_entries, publish_feed
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss


async def pass_once(stage: Stage) -> None:
    """Poll what is due."""
    stage.later(seconds=1)
    await stage.pass_once()


async def wait_a_minute(stage: Stage) -> None:
    """Move the clock."""
    stage.later(minutes=1)


async def fail_once(stage: Stage) -> None:
    """A feed that came, and then did not."""
    feed = await stage.add("/paper", document(rss(item(1))), document(b"gone"))
    await stage.poll(feed, times=2)


def test_a_feed_is_added_polled_and_explained(empty: ConsoleMill, watched: Watched) -> None:
    url, page = empty.tell(publish_feed), watched()

    page.goto(f"{empty.base}/console/feeds")
    page.get_by_label("Address of a feed or a site").fill(url)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Added")
    expect(page.locator("main")).to_contain_text("The poll brought 2 new entries")

    empty.tell(wait_a_minute)
    page.get_by_role("button", name="Poll now").click()
    expect(page.get_by_role("status")).to_contain_text("polled as soon as")
    empty.tell(pass_once)
    page.reload()
    expect(page.locator("svg.chart circle")).to_have_count(2)

    page.get_by_role("link", name="Polls").click()
    page.get_by_role("link", name=re.compile(r"^\d{4}-")).first.click()
    expect(page.get_by_role("heading", name="Normalised").first).to_be_visible()


def test_held_entries_are_reviewed_and_confirmed(empty: ConsoleMill, watched: Watched) -> None:
    empty.tell(hold_entries)
    secret, page = empty.issue("admin"), watched()

    page.goto(f"{empty.base}/")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Held entries").click()
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Insert the selected").click()
    page.get_by_role("button", name="Yes, insert").click()

    expect(page.get_by_role("status")).to_contain_text("2 inserted")
    page.get_by_role("link", name="Entries", exact=True).click()
    expect(page.locator("main")).to_contain_text("Title 7")


def test_a_dead_letter_is_sent_again(empty: ConsoleMill, watched: Watched) -> None:
    empty.tell(bury_letter)
    page = watched()

    page.goto(f"{empty.base}/console/webhooks")
    page.get_by_role("link", name=re.compile("hook$")).click()
    expect(page.locator("main")).to_contain_text("unavailable, HTTP 503")
    page.get_by_role("button", name="Send all again").click()

    expect(page.get_by_role("status")).to_contain_text("1 dead letter delivered.")


def test_several_feeds_are_paused_after_a_question(empty: ConsoleMill, watched: Watched) -> None:
    async def add(stage: Stage) -> None:
        for name in ("/one", "/two"):
            await stage.add(name, document(rss(item(1))))

    empty.tell(add)
    page = watched()

    page.goto(f"{empty.base}/console/feeds")
    page.get_by_label("Select all on this page").check()
    page.get_by_label("Action").select_option("pause")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pause 2 feeds?")
    page.get_by_role("button", name="Yes, do it").click()

    expect(page.get_by_role("status")).to_contain_text("2 feeds: done.")


def test_new_events_and_figures_appear_by_themselves(empty: ConsoleMill, watched: Watched) -> None:
    log, overview = watched(), watched()
    log.goto(f"{empty.base}/console/log")
    overview.goto(f"{empty.base}/")
    expect(log.locator("#stream-status")).to_have_text("live")
    expect(overview.locator("#overview")).to_contain_text("There is no feed yet")

    empty.tell(fail_once)

    expect(log.locator("tbody tr").first).to_contain_text(
        re.compile("new_entry|feed"), timeout=60_000
    )
    expect(overview.locator("#overview")).to_contain_text("backing off", timeout=60_000)


def test_page_goes_on_refreshing_after_answers_that_failed(
    empty: ConsoleMill, chromium: Browser
) -> None:
    # Not `watched`: Chromium itself reports the two answers that fail here.
    page, errors, asked = chromium.new_page(), list[str](), list[str]()
    page.on("pageerror", lambda error: errors.append(f"{error}"))
    page.goto(f"{empty.base}/")
    expect(page.locator("#overview")).to_contain_text("There is no feed yet")

    def answer(route: Route) -> None:
        if route.request.resource_type != "fetch":
            return route.continue_()
        asked.append(route.request.url)
        if len(asked) == 1:
            return route.abort()
        return route.fulfill(status=503) if len(asked) == 2 else route.continue_()

    page.route(f"{empty.base}/", answer)
    empty.tell(fail_once)

    expect(page.locator("#overview")).to_contain_text("backing off", timeout=120_000)
    assert len(asked) > 2
    assert errors == []
    page.close()


def test_a_part_of_a_chart_is_shown_larger(mill: ConsoleMill, watched: Watched) -> None:
    page = watched()
    page.goto(f"{mill.base}/")
    chart = page.locator("svg[data-zoom]").first
    box = chart.bounding_box()
    assert box is not None

    page.mouse.move(box["x"] + 100, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 50)
    page.mouse.up()
    assert not (chart.get_attribute("viewBox") or "").startswith("0 0 760")

    chart.dblclick()
    assert (chart.get_attribute("viewBox") or "").startswith("0 0 760")


def test_logging_in_and_out_by_token(empty: ConsoleMill, watched: Watched) -> None:
    secret, page = empty.issue("admin"), watched()

    page.goto(f"{empty.base}/console/feeds")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Feeds")
    (session,) = [one for one in page.context.cookies() if one["name"] == "feedmill_session"]
    assert session["httpOnly"]
    assert session["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""

    page.get_by_role("button", name=re.compile("Log out")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in to feedmill")
