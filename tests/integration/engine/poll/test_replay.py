"""Replay over history: the present reader against the store, and against another version."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import item, paper, rss

from feedmill.config import NormaliseConfig, ParseLimits
from feedmill.engine.poll.replay import (
    EntryReading,
    FeedHistory,
    FeedReading,
    against_reading,
    against_store,
    read_history,
    replay,
)
from feedmill.model.feed import Feed
from feedmill_demo.server.script import document


@pytest.fixture
def store_url() -> None:
    """SQLite alone: the contract suite asks both stores for fetches and known entries."""


_PAGE = document(b"<html><head><title>Away</title></head><body>Closed</body></html>")


async def _polled(stage: Stage) -> Feed:
    """A feed with three documents and a page: an entry leaves, one is revised, one comes."""
    revised = rss(item(2, text="Another text of 2."), item(3))
    feed = await stage.add("/feed", paper(1, 2), document(revised), _PAGE, paper(3, 4))
    for _ in range(4):
        feed = await stage.poll(feed)
        stage.later(hours=12)
    return feed


def _kinds(history: FeedHistory) -> list[str]:
    return sorted(one.kind for one in history.differences)


def test_history_under_the_same_reader_shows_no_difference(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)

        reading = await read_history(feed, stage.services)
        history = await against_store(reading, stage.services)

        assert (history.documents, history.entries, history.missing) == (4, 4, 0)
        assert history.differences == ()

    play(story)


def test_document_that_is_missing_or_damaged_costs_itself_alone(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)
        await stage.services.blobs.seal()
        for segment in await stage.services.blobs.segments():
            await stage.services.blobs.drop(segment.name)

        reading = await read_history(feed, stage.services)
        last = await replay(feed, stage.services)

        assert (reading.documents, reading.missing) == (0, 4)
        assert last.outcome == "no-raw-document"

    play(story)


def test_another_reader_is_compared_with_the_store_entry_by_entry(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)
        log = await stage.events()
        await stage.reopen(normalise=NormaliseConfig(summary_max_chars=6))

        history = await against_store(await read_history(feed, stage.services), stage.services)

        assert {(one.kind, one.changed) for one in history.differences} == {
            ("article", ()),
            ("content", ("summary",)),
        }
        assert len(history.differences) == 8
        assert await stage.events() == log

    play(story)


def test_reader_that_sees_fewer_entries_is_told_by_document(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)
        before = await read_history(feed, stage.services)
        await stage.reopen(parse=ParseLimits(max_items=1))

        after = await read_history(feed, stage.services)

        assert _kinds(await against_store(after, stage.services)) == ["entries"] * 3
        assert _kinds(against_reading(after, before)) == ["entries"] * 3 + ["lost"]
        assert _kinds(against_reading(before, after)) == ["missed"]

    play(story)


def test_entry_that_the_store_never_got_is_missed(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)
        reading = await read_history(feed, stage.services)
        other = replace(reading, feed_id="f" * 26)

        assert _kinds(await against_store(other, stage.services)) == ["missed"] * 4

    play(story)


def test_span_reads_its_own_documents_and_an_older_one_only_asks_what_is_there(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await _polled(stage)
        middle = stage.services.clock.now() - timedelta(hours=40)

        late = await read_history(feed, stage.services, since=middle)
        early = await read_history(feed, stage.services, until=middle)
        asked = await against_store(early, stage.services, is_recent=False)

        assert (early.documents, late.documents) == (1, 3)
        assert asked.differences == ()

    play(story)


def _reading(reader: str, **changes: object) -> FeedReading:
    entry = EntryReading(
        entry_uid="u1",
        title="One",
        keys=(),
        article_hash="a1",
        content_version="content-v1",
        fields=(("title", "t1"), ("published", "p1")),
    )
    return FeedReading(feed_id="f", reader=reader, entries=(replace(entry, **changes),))


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, []),
        ({"fields": (("title", "t2"), ("published", "p1"))}, ["content"]),
        ({"fields": (("title", "t1"), ("published", "p2"))}, ["dates"]),
        ({"article_hash": "a2"}, ["article"]),
        ({"entry_uid": "u2"}, ["identity"]),
        ({"entry_uid": "u2", "article_hash": "a2"}, ["lost", "missed"]),
    ],
)
def test_two_versions_differ_in(changes: dict[str, object], kinds: list[str]) -> None:
    history = against_reading(_reading("new", **changes), _reading("old"))

    assert (history.before, history.reader) == ("old", "new")
    assert _kinds(history) == kinds
