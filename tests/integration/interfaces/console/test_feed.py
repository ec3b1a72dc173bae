"""One feed: why it is polled when it is, what it holds, and its actions."""

from datetime import timedelta

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss

from feedmill.model.feed import PushSubscription
from feedmill_demo.server.script import Answer, document

FAILS = Answer(status=503)


@pytest.fixture
def feed_id(mill: ConsoleMill) -> str:
    """A feed that was polled twice, and failed the second time."""

    async def story(stage: Stage) -> str:
        feed = await stage.add("/paper", document(rss(item(1), item(2))), FAILS)
        await stage.poll(feed, times=2)
        return feed.id

    return mill.tell(story)


def test_a_feed_is_explained_in_words_and_as_a_timeline(browser: Browser, feed_id: str) -> None:
    page = browser.open(f"/console/feeds/{feed_id}")

    words = text_of(page)
    assert "It has failed once since" in words
    assert "The poll failed (HTTP 503, unavailable), so the interval" in words
    assert page.body.count(b"<circle") == 2


def test_entries_and_polls_of_a_feed_are_listed(browser: Browser, feed_id: str) -> None:
    entries = text_of(browser.open(f"/console/feeds/{feed_id}/entries"))
    polls = text_of(browser.open(f"/console/feeds/{feed_id}/fetches"))

    assert "Title 1" in entries
    assert "Title 2" in entries
    assert "unavailable" in polls
    assert "fresh" in polls


def act(browser: Browser, feed_id: str, action: str, **fields: str) -> str:
    here = f"/console/feeds/{feed_id}"
    return text_of(browser.send(f"{here}/change", {"action": action, **fields}, page=here))


def test_a_feed_is_paused_resumed_tagged_and_polled(browser: Browser, feed_id: str) -> None:
    assert "Paused." in act(browser, feed_id, "pause")
    assert "the feed" in act(browser, feed_id, "refetch")  # a paused feed is not polled
    assert "Resumed" in act(browser, feed_id, "resume")
    assert "as soon as its host's pace allows" in act(browser, feed_id, "refetch")
    assert "Tags changed." in act(browser, feed_id, "tags", tags="b, a,, a")
    assert b'value="a, b"' in browser.open(f"/console/feeds/{feed_id}").body


def test_a_feed_moves_only_where_the_same_feed_is(
    mill: ConsoleMill, browser: Browser, feed_id: str
) -> None:
    async def publish(stage: Stage) -> tuple[str, str]:
        stage.publisher.script("/new", document(rss(item(1), item(2))))
        stage.publisher.script("/other", document(rss(item(7)).replace(b"Paper", b"Other")))
        return stage.publisher.url("/new"), stage.publisher.url("/other")

    new, other = mill.tell(publish)

    assert "Not moved" in act(browser, feed_id, "move", url=other)
    assert f"Moved to {new}" in act(browser, feed_id, "move", url=new)
    assert "Back at" in act(browser, feed_id, "undo-move")
    assert "an address is needed" in act(browser, feed_id, "move", url=" ")


def test_a_feed_is_removed_after_a_question(browser: Browser, feed_id: str) -> None:
    assert "Remove this feed with all its entries?" in act(browser, feed_id, "remove")
    assert "Removed" in act(browser, feed_id, "remove", confirmed="1")
    assert browser.open(f"/console/feeds/{feed_id}").status == 404


def test_an_unknown_action_is_refused(browser: Browser, feed_id: str) -> None:
    assert "unknown action 'dance'" in act(browser, feed_id, "dance")


def test_a_feed_that_was_never_polled_has_a_page(mill: ConsoleMill, browser: Browser) -> None:
    async def story(stage: Stage) -> str:
        return (await stage.add("/later")).id

    page = browser.open(f"/console/feeds/{mill.tell(story)}")

    assert "It has not been polled yet." in text_of(page)


def test_push_is_shown_with_its_evidence_and_a_hub_that_never_pushes_is_named(
    mill: ConsoleMill, browser: Browser
) -> None:
    async def story(stage: Stage) -> str:
        extra = '<atom:link rel="hub" href="https://hub.example/"/>'
        feed = await stage.add("/pushed", document(rss(item(1), extra=extra)))
        await stage.poll(feed)
        now = stage.clock.now()
        subscription = PushSubscription(
            token="unguessable-token",
            secret="signing-secret",
            hub="https://hub.example/",
            topic=feed.url,
            created_at=now,
            feed_id=feed.id,
            state="active",
            verified_at=now - timedelta(days=9),
            lease_until=now + timedelta(days=1),
        )
        await stage.services.store.add_push_subscription(subscription)
        return feed.id

    feed_id = mill.tell(story)
    page = browser.open(f"/console/feeds/{feed_id}")

    assert "Push: off, because [push] public_url is not set" in text_of(page)
    assert "https://hub.example/" in text_of(page)
    named = "https://hub.example/ accepted 1 subscription 9 days ago and has never pushed."
    assert named in text_of(browser.open("/console/hosts"))
    assert named in text_of(browser.open("/"))
    assert b"unguessable-token" not in page.body
    assert b"signing-secret" not in page.body
