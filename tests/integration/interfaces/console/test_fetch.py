"""One poll: headers, and its document at three stages; and what a publisher changed."""

import re

from tests.support.console_client import Browser, ConsoleMill, text_of


def fetches_of(browser: Browser, title: str) -> list[str]:
    """The pages of the polls of a feed, the newest first."""
    listed = browser.open(f"/console/feeds?text={title}").body.decode()
    feed = re.search(r'href="(/console/feeds/[0-9a-f-]{20,})"', listed)
    assert feed is not None
    polls = browser.open(f"{feed[1]}/fetches").body.decode()
    return re.findall(r'href="(/console/fetches/[^"]+)"', polls)


def test_a_document_is_shown_raw_parsed_and_normalised(busy: ConsoleMill) -> None:
    browser = busy.browser()

    page = browser.open(fetches_of(browser, "/paper")[-1])

    words = text_of(page)
    assert "rss20" in words
    assert "None: the document is well-formed." in words
    assert "<item><title>Title 1" in words  # raw
    assert "canonical_link: https://paper.example/1" in words  # normalised
    assert "embedded-frame" not in words
    assert "script in" in words  # a finding
    assert b"User-Agent" in page.body
    assert b"<script>alert" not in page.body


def test_a_document_that_is_no_feed_says_what_it_is(busy: ConsoleMill) -> None:
    browser = busy.browser()

    words = text_of(browser.open(fetches_of(browser, "/page")[0]))

    assert "It is no feed: html-page" in words
    assert "no feed</body>" in words


def test_what_a_publisher_changed_is_shown_entry_by_entry(busy: ConsoleMill) -> None:
    browser = busy.browser()
    after, before = (one.rpartition("/")[2] for one in fetches_of(browser, "/paper"))

    page = browser.open(f"/console/diff?before={before}&after={after}")

    words = text_of(page)
    assert "added: Title 3" in words
    assert "changed" in words
    assert "Another text." in words
    assert b"<script>alert" not in page.body


def test_polls_that_are_not_there_are_not_found(busy: ConsoleMill) -> None:
    browser = busy.browser()

    assert browser.open("/console/fetches/nothing").status == 404
    assert browser.open("/console/diff?before=a&after=b").status == 404
