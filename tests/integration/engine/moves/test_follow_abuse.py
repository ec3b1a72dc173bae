"""Moves as somebody would abuse them: a redirect that takes over, credentials that go along (D6)."""

from datetime import timedelta

import pytest
from tests.support.engine_harness import Play, Stage, titles
from tests.support.feed_documents import item, paper, rss, said

from feedmill.engine.moves.follow import move_feed
from feedmill.model.feed import Feed
from feedmill_demo.server.script import Answer, document, redirect


def advertisement() -> Answer:
    """A feed that has nothing in common with the paper."""
    items = (
        item(n, guid=f"ad-{n}", link=f"https://ads.example/{n}", title=f"Buy {n}", text=f"Now {n}")
        for n in range(20, 26)
    )
    return document(rss(*items))


async def _polled(stage: Stage, *feeds: Feed, polls: int = 4) -> None:
    for number in range(polls):
        stage.later(hours=25 if number else 0)
        await stage.poll(*feeds)


@pytest.mark.parametrize("gone", [False, True], ids=["for days", "and then gone"])
def test_a_redirect_to_another_feed_does_not_push_its_entries_in_there(
    play: Play, *, gone: bool
) -> None:
    async def story(stage: Stage) -> None:
        victim = await stage.add("/paper", paper(1, 2, 3))
        stranger = await stage.add("/ads", advertisement())
        await stage.poll(victim, stranger)
        stage.publish(stranger, redirect("/paper"))

        await _polled(stage, stranger, polls=1 if gone else 4)
        if gone:
            stage.publish(stranger, said(410))
            await _polled(stage, stranger, polls=3)

        assert await stage.services.store.feed(stranger.id) is not None
        assert titles(await stage.entries(victim)) == ["Title 1", "Title 2", "Title 3"]
        assert await stage.events("feed.merged") == []

    play(story)


def test_a_redirect_that_first_named_the_address_in_the_document_is_no_proof_either(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        victim = await stage.add("/paper", paper(1, 2, 3))
        stranger = await stage.add("/ads", advertisement())
        await stage.poll(victim, stranger)
        claim = f"<itunes:new-feed-url>{victim.url}</itunes:new-feed-url>"
        stage.publish(stranger, document(rss(item(20, guid="ad-20"), extra=claim)))
        await stage.poll(stranger)
        stage.publish(stranger, redirect("/paper"))

        await _polled(stage, stranger)

        assert await stage.events("feed.merged") == []
        assert titles(await stage.entries(victim)) == ["Title 1", "Title 2", "Title 3"]

    play(story)


def test_a_redirect_to_another_feed_is_held_with_a_reason(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/casino", advertisement())
        feed = await stage.add("/feed", paper(1, 2, 3))
        await stage.poll(feed)
        stage.publish(feed, redirect("/casino"))

        await _polled(stage, feed)
        after = await stage.feed(feed)

        assert after.url == feed.url
        assert after.move is not None
        assert after.move.reason == "not-the-same-feed"

    play(story)


@pytest.mark.parametrize("force", [False, True])
def test_a_feed_that_is_moved_by_hand_leaves_its_credentials_behind(
    play: Play, *, force: bool
) -> None:
    async def story(stage: Stage) -> None:
        there = stage.publisher.url("/feed", host="127.0.1.1")
        feed = await stage.add(
            "/feed",
            paper(1),
            username="ann",
            password="secret",
            headers=(("X-Key", "secret"),),
        )
        stage.publisher.script("/feed", paper(1), host="127.0.1.1")
        await stage.poll(feed)

        followed = await move_feed(await stage.feed(feed), there, stage.services, force=force)
        stage.later(hours=25)
        await stage.poll(feed)

        assert followed.outcome == "held"
        assert followed.reason == "has-credentials"
        strangers = [r for r in stage.publisher.requests if r.address == "127.0.1.1"]
        assert all(r.header("authorization") is None for r in strangers)
        assert all(r.header("x-key") is None for r in strangers)

    play(story, addresses=1)


def test_a_person_waits_for_the_hosts_turn_and_is_not_sent_away(play: Play) -> None:
    async def story(stage: Stage) -> None:
        there = stage.publisher.url("/there")
        stage.publisher.script("/there", paper(1))
        feed = await stage.poll(await stage.add("/feed", paper(1)))
        soon = stage.clock.now() + timedelta(milliseconds=50)
        await stage.services.store.limit_host(there, soon, None)

        followed = await move_feed(feed, there, stage.services)

        assert (followed.outcome, followed.url) == ("moved", there)

    play(story)
