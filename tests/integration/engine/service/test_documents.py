"""Stored documents compared, and as fixtures: which two are taken, and what stands in the way."""

import pytest
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import numbered, paper

from feedmill.config import RetentionConfig
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.maintain.retention import purge
from feedmill.engine.service.documents import (
    diff_documents,
    diff_last_documents,
    fixture_of,
)
from feedmill.errors import ConflictError, NotFoundError
from feedmill_demo.server.script import document


def test_last_two_different_documents_are_compared(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2), paper(2, 3), paper(2, 3))
        await stage.poll(feed, times=3)
        first, *_ = await stage.fetches(feed)

        found = await diff_last_documents(feed.id, stage.services)

        assert [one.change for one in found.diff.entries] == ["added", "removed"]
        assert (found.before, found.same_bytes) == (first.fetch_id, False)

    play(story)


def test_one_document_alone_cannot_be_compared(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)

        with pytest.raises(NotFoundError, match="fewer than two"):
            await diff_last_documents(feed.id, stage.services)

    play(story)


def test_documents_of_two_feeds_or_no_feed_are_not_compared(play: Play) -> None:
    async def story(stage: Stage) -> None:
        one = await stage.add("/one", paper(1), document(b"<html><body>Hello</body></html>"))
        two = await stage.add("/two", paper(1))
        await stage.poll(one, times=2)
        await stage.poll(two)
        (good, page), (other, *_) = await stage.fetches(one), await stage.fetches(two)

        with pytest.raises(ConflictError, match="different feeds"):
            await diff_documents(good.fetch_id, other.fetch_id, stage.services)
        with pytest.raises(ConflictError, match="brought no feed: html-page"):
            await diff_documents(good.fetch_id, page.fetch_id, stage.services)
        with pytest.raises(NotFoundError, match="are not of the feed"):
            await diff_last_documents(
                one.id, stage.services, before=other.fetch_id, after=other.fetch_id
            )

    play(story)


def test_fixture_of_a_feed_is_its_last_document(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(1, 2))
        with pytest.raises(NotFoundError, match="no document"):
            await fixture_of(feed.id, stage.services)
        await stage.poll(feed, times=2)
        first, last = await stage.fetches(feed)

        assert (await fixture_of(feed.url, stage.services)).fetch.fetch_id == last.fetch_id
        assert (await fixture_of(first.fetch_id, stage.services)).body == numbered(1)

    play(story)


def test_repaired_and_unreadable_documents_outlive_the_others(play: Play) -> None:
    async def story(stage: Stage) -> None:
        broken = numbered(1).replace(b"</title>", b" & more</title>", 1)
        pages = [document(f"<html><body>{n}</body></html>".encode()) for n in range(3)]
        feed = await stage.add("/feed", document(broken), *pages, paper(1), paper(2))
        await stage.poll(feed, times=6)
        stage.later(days=100)
        await stage.poll(feed)

        await purge(stage.services)

        kept = [
            one.outcome
            for one in await stage.fetches(feed)
            if await load_document(one, stage.services.store, stage.services.blobs)
        ]
        assert kept == ["html-page", "html-page", "fresh", "same-body"]

    play(story, retention=RetentionConfig(raw_keep_last=1, raw_keep_samples=2))
