"""Entries and search, one entry, its content in a frame, its duplicates; articles."""

import re

import pytest
from tests.support.console_client import ConsoleMill, text_of


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Title 1", "Title 2", "Title 3"]),
        ("?q=title", ["Title 1", "Title 2", "Title 3"]),
        ("?q=title+-2&order=oldest&duplicates=1", ["Title 1", "Title 3"]),
        ("?q=nothing", []),
        ("?q=-title", []),
        ("?author=nobody", []),
        ("?published_since=2000-01-01&order=arrival", ["Title 1", "Title 2", "Title 3"]),
        ("?since=2099-01-01", []),
        ("?since=not+a+date", []),
        ("?with_tag=nothing", []),
    ],
)
def test_entries_are_searched(busy: ConsoleMill, query: str, expected: list[str]) -> None:
    words = text_of(busy.browser().open(f"/console/entries{query}"))

    assert [one for one in ("Title 1", "Title 2", "Title 3") if one in words] == expected


def test_matches_are_marked_and_bad_searches_explained(busy: ConsoleMill) -> None:
    browser = busy.browser()

    assert b"<mark>Title</mark>" in browser.open("/console/entries?q=title").body
    assert "nothing to search for" in text_of(browser.open("/console/entries?q=-title"))
    assert "since: 'soon' is not a date" in text_of(browser.open("/console/entries?since=soon"))


def test_an_entry_names_its_duplicates_and_revisions(busy: ConsoleMill) -> None:
    browser = busy.browser()
    listed = browser.open("/console/entries").body.decode()
    (shown,) = re.findall(r'href="(/console/entries/[^"]+)">Title 1<', listed)
    page = browser.open(shown)
    (other,) = re.findall(r'href="(/console/entries/[^"]+)">Title 1<', page.body.decode())

    words = " ".join(text_of(one) for one in (page, browser.open(other)))

    assert "Mirror" in words
    assert "changed" in words  # the revision of the changed one
    assert words.count("Title 1") > 2  # each names the other


def test_content_is_shown_in_a_frame_that_may_do_nothing(busy: ConsoleMill) -> None:
    browser = busy.browser()
    listed = browser.open("/console/entries").body.decode()

    (path,) = re.findall(r'href="(/console/entries/[^"]+)">Title 2', listed)
    page, frame = browser.open(path), browser.open(f"{path}/content")

    assert b'sandbox=""' in page.body
    assert frame.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"
    assert b"Fine <em>[media]</em>" in frame.body
    assert not re.search(rb"<script|<img|onerror", frame.body)


def test_articles_say_how_many_entries_carry_them(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/articles")

    assert "Title 1" in text_of(page)
    assert b'data-label="Entries">2</td>' in page.body


def test_an_entry_that_is_not_there_is_not_found(busy: ConsoleMill) -> None:
    assert busy.browser().open("/console/entries/nothing").status == 404
    assert busy.browser().open("/console/entries/nothing/content").status == 404
