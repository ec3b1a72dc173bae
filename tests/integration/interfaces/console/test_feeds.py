"""The list of feeds, adding, importing, and one action on many."""

import re

import pytest
from tests.support.console_client import FORM, Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.rest_client import Answer

from feedmill_demo.server.script import document


def titled(title: str) -> bytes:
    return rss(item(1)).replace(b"<title>Paper", f"<title>{title}".encode(), 1)


def add(mill: ConsoleMill, name: str, *, title: str = "") -> str:
    """Subscribe to a feed of the publisher; its id."""

    async def story(stage: Stage) -> str:
        body = titled(title or name)
        feed = await stage.add(f"/{name}", document(body))
        await stage.poll(feed)
        return feed.id

    return mill.tell(story)


def test_a_feed_is_added_polled_and_listed(mill: ConsoleMill, browser: Browser) -> None:
    async def publish(stage: Stage) -> str:
        stage.publisher.script("/news", document(titled("Harbour News")))
        return stage.publisher.url("/news")

    url = mill.tell(publish)

    answer = browser.send(
        "/console/feeds", {"url": url, "tags": "sea, news"}, page="/console/feeds"
    )

    assert answer.status == 200
    listed = text_of(browser.open("/console/feeds?with_tag=sea"))
    assert "1 feed" in listed


def test_an_address_that_may_not_be_fetched_is_explained(browser: Browser) -> None:
    answer = browser.send("/console/feeds", {"url": "http://10.0.0.1/"}, page="/console/feeds")

    assert answer.status == 422
    assert "10.0.0.1" in text_of(answer)


def test_feeds_are_searched_and_sorted(mill: ConsoleMill, browser: Browser) -> None:
    add(mill, "b", title="Banana")
    add(mill, "a", title="Apple")

    up = browser.open("/console/feeds").body
    down = browser.open("/console/feeds?order=name&down=1").body
    found = text_of(browser.open("/console/feeds?text=appl"))

    assert up.index(b"Apple") < up.index(b"Banana")
    assert down.index(b"Banana") < down.index(b"Apple")
    assert "1 feed for “appl”" in found
    assert "Banana" not in found


def test_an_import_says_what_became_of_each_address(browser: Browser) -> None:
    lines = "https://a.example/feed\nhttps://b.example/feed\n"

    answer = browser.send("/console/feeds/import", {"list": lines}, page="/console/feeds")

    assert "2 addresses: 2 added" in text_of(answer)


@pytest.mark.parametrize(
    ("headers", "body", "status", "expected"),
    [
        pytest.param(FORM, b"list=" + b"a" * 6_000_000, 413, "larger than", id="too large"),
        pytest.param(
            {"Content-Type": "multipart/form-data; boundary=b"},
            b"--b\r\n" * 1_000,
            400,
            "cannot be read",
            id="broken",
        ),
    ],
)
def test_list_that_cannot_be_taken_is_refused_with_its_reason(
    browser: Browser, headers: dict[str, str], body: bytes, status: int, expected: str
) -> None:
    browser.open("/console/feeds")

    answer = browser.ask("/console/feeds/import", method="POST", body=body, headers=headers)

    assert answer.status == status
    assert expected in text_of(answer)
    assert "no such page" not in text_of(answer)


@pytest.mark.parametrize(
    ("action", "tag", "expected"),
    [
        ("pause", "", "2 feeds: done"),
        ("add-tag", "kept", "2 feeds: done"),
        ("refetch", "", "2 feeds: done"),
        ("remove", "", "2 feeds: done"),
    ],
)
def test_an_action_on_many_feeds_is_confirmed_first(
    mill: ConsoleMill, browser: Browser, action: str, tag: str, expected: str
) -> None:
    ids = [add(mill, "a"), add(mill, "b")]
    fields = {"action": action, "tag": tag, "feed": ids}

    asked = browser.send("/console/feeds/bulk", fields, page="/console/feeds")
    before = text_of(browser.open("/console/feeds"))
    done = browser.send("/console/feeds/bulk", {**fields, "confirmed": "1"}, page="/console/feeds")

    assert "2 feeds?" in text_of(asked)
    assert "2 feeds" in before
    assert expected in text_of(done)
    if action == "pause":
        assert "2 feeds" in text_of(browser.open("/console/feeds?state=paused"))
    if action == "add-tag":
        assert "2 feeds" in text_of(browser.open("/console/feeds?with_tag=kept"))
    if action == "remove":
        assert "0 feeds" in text_of(browser.open("/console/feeds"))


def ask(browser: Browser, **fields: str) -> tuple[Answer, dict[str, str]]:
    """The question about all feeds of a list, and the form that answers it."""
    wanted = {"all": "1", **fields}
    asked = browser.send("/console/feeds/bulk", wanted, page="/console/feeds")
    found = re.search(rb'name="digest" value="([0-9a-f]+)"', asked.body)
    shown = "" if found is None else found[1].decode()
    return asked, {**wanted, "confirmed": "1", "digest": shown}


def test_all_feeds_of_a_list_can_be_chosen_at_once(mill: ConsoleMill, browser: Browser) -> None:
    add(mill, "alpha"), add(mill, "beta")
    _, confirmed = ask(browser, action="pause", text="alpha")

    browser.send("/console/feeds/bulk", confirmed, page="/console/feeds")

    assert "1 feed" in text_of(browser.open("/console/feeds?state=paused"))


def test_list_that_changed_after_the_question_is_asked_about_again(
    mill: ConsoleMill, browser: Browser
) -> None:
    feed_id = add(mill, "alpha")
    asked, confirmed = ask(browser, action="remove")
    add(mill, "beta")

    again = browser.send("/console/feeds/bulk", confirmed, page="/console/feeds")

    assert "1 feed?" in text_of(asked)
    assert "2 feeds?" in text_of(again)
    assert "The list has changed since you were asked." in text_of(again)
    assert browser.open(f"/console/feeds/{feed_id}").status == 200


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"action": "explode"}, "unknown action"),
        ({"action": "add-tag", "feed": "x"}, "a tag of 1 to 100"),
        ({"action": "pause"}, "no feed was selected"),
    ],
)
def test_an_action_that_has_no_meaning_is_refused(
    browser: Browser, fields: dict[str, str], words: str
) -> None:
    answer = browser.send("/console/feeds/bulk", fields, page="/console/feeds")

    assert answer.status == 422
    assert words in text_of(answer)


def test_hostile_titles_are_text(mill: ConsoleMill, browser: Browser) -> None:
    add(mill, "x", title="&lt;script&gt;alert(1)&lt;/script&gt;\"'onmouseover=x")

    page = browser.open("/console/feeds").body

    assert b"<script>alert" not in page
    assert b"'onmouseover" not in page
