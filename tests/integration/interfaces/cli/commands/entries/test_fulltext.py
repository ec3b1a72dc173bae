"""`feedmill fulltext`: opt in, fetch, show, replay; and the same over REST."""

import pytest
from tests.support.command_line import Mill, PublisherBeside
from tests.support.web_pages import ExtractorHere, page, served

from feedmill_demo.server.script import Answer, document


@pytest.fixture
def feed_url(mill: Mill, beside: PublisherBeside, monkeypatch: pytest.MonkeyPatch) -> str:
    """A feed with one entry whose page has a text, polled once."""
    monkeypatch.setattr("feedmill.adapters.extractor.ExtractorPool", lambda _: _Closable())
    publisher = beside.publisher
    item = f"<item><guid>1</guid><title>One</title><link>{publisher.url('/ft/1')}</link></item>"
    body = f"<rss version='2.0'><channel><title>P</title>{item}</channel></rss>".encode()
    publisher.script("/ft/feed", document(body), host="127.0.0.1")
    publisher.script("/ft/1", served(page(1)), host="127.0.0.1")
    publisher.script("/robots.txt", Answer(status=404), host="127.0.0.1")
    url = publisher.url("/ft/feed")
    mill.ok("add", "--as-is", url)
    mill.ok("sync")
    return url


class _Closable(ExtractorHere):
    async def close(self) -> None:
        pass


def test_full_text_is_fetched_shown_and_replayed(mill: Mill, feed_url: str) -> None:
    (entry,) = mill.json("entries")["items"]
    uid = entry["entry_uid"]
    nothing = mill("fulltext", "show", uid)

    fetched = mill.ok("fulltext", "fetch", feed_url)
    again = mill.json("fulltext", "fetch", uid)

    assert nothing.status == 1
    assert "was not fetched" in nothing.err
    assert "extracted  Story 1" in fetched.text
    assert again["items"][0]["state"] == "extracted"
    shown = mill.ok("fulltext", "show", uid)
    assert "The end of story 1." in shown.text.splitlines()
    assert "<p>" in mill.ok("fulltext", "show", uid, "--html").text
    assert mill.json("fulltext", "show", uid)["extractor"] == "trafilatura"
    assert "1 were current" in mill.ok("fulltext", "replay", "--all").text
    assert mill.json("fulltext", "replay", feed_url, "--force")["pages"] == 1
    assert mill("fulltext", "replay").status == 2
    assert mill.json("verify")["problems"] == []


def test_feed_opts_in_and_out(mill: Mill, feed_url: str) -> None:
    on = mill.json("fulltext", "enable", feed_url, "--selector", "article p")
    shown = mill.json("show", feed_url)
    off = mill.ok("fulltext", "disable", feed_url)

    assert on["items"][0]["full_text_selector"] == "article p"
    assert shown["overrides"]["full_text"] is True
    assert "off for 1 feed" in off.text
    assert mill("fulltext", "enable", feed_url, "--selector", "p[").status == 2
