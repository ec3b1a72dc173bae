"""One publisher cannot fill the disk: what exceeds the quotas of a feed waits or is thinned, and is told (D40)."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage, titles
from tests.support.feed_documents import item, numbered, rss

from feedmill.config import QuotaConfig, RetentionConfig
from feedmill.engine.maintain.retention import purge
from feedmill.engine.service.feed_health import describe_health
from feedmill.model.feed import Feed
from feedmill_demo.server.script import document


async def _told(stage: Stage) -> list[dict[str, Any]]:
    return [event.data for event in await stage.events() if event.type == "feed.quota"]


async def _words(stage: Stage, feed: Feed) -> str:
    return " ".join((await describe_health(await stage.feed(feed), stage.services)).words)


async def _limited(stage: Stage, **quota: int) -> None:
    await stage.reopen(quota=QuotaConfig(**quota))


def test_entries_beyond_the_quota_of_a_poll_are_taken_by_later_polls(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _limited(stage, entries_per_poll=2)
        feed = await stage.add("/feed", document(numbered(1, 2, 3, 4, 5), etag='"1"'))

        first = await stage.poll(feed)

        assert titles(await stage.entries()) == ["Title 1", "Title 2"]
        assert first.quota is not None
        assert (first.quota.waiting, first.quota.reason) == (3, "entries-per-poll")
        assert first.validators is None  # a 304 would hide what waits
        assert "3 new or changed entries of its last document wait" in await _words(stage, feed)
        second = await stage.poll(feed, times=2)
        assert titles(await stage.entries()) == [f"Title {number}" for number in range(1, 6)]
        assert second.quota is not None
        assert (second.quota.waiting, second.quota.reason) == (0, None)
        assert second.validators is not None
        assert "wait" not in await _words(stage, feed)
        assert await _told(stage) == [{"reason": "entries-per-poll", "waiting": 3}]

    play(story)


def test_entries_beyond_the_quota_of_a_day_wait_for_the_next_day(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _limited(stage, entries_per_day=3)
        feed = await stage.add("/feed", *(document(numbered(at, at + 1)) for at in (1, 3, 5)))

        await stage.poll(feed, times=3)

        assert titles(await stage.entries()) == ["Title 1", "Title 2", "Title 3"]
        assert [one["reason"] for one in await _told(stage)] == ["entries-per-day"]
        stage.later(days=1)
        await stage.poll(feed)
        assert titles(await stage.entries())[3:] == ["Title 5", "Title 6"]

    play(story)


def test_changed_entry_beyond_the_bytes_of_a_day_keeps_its_text_and_stays_in_the_document(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1, 2)))
        await stage.poll(feed)
        stage.publish(feed, document(rss(item(1, text="x" * 3_000), item(2, text="Short."))))
        await _limited(stage, bytes_per_day=2_000)

        polled = await stage.poll(feed)

        assert polled.quota is not None
        assert (polled.quota.waiting, polled.quota.reason) == (1, "bytes-per-day")
        long, short = sorted(await stage.entries(), key=lambda one: one.title or "")
        assert (long.revisions, short.revisions) == (0, 1)
        stage.later(days=40)
        assert (await purge(stage.services))["entries"] == 0  # both stand in the document
        await _limited(stage)
        await stage.poll(feed)
        assert [one.revisions for one in await stage.entries()] == [1, 1]

    play(story)


@pytest.mark.parametrize(("times", "stored"), [(2.0, 4), (0.0, 6), (0.001, 1), (None, 2)])
def test_feed_has_a_multiple_of_the_quotas(play: Play, times: float | None, stored: int) -> None:
    async def story(stage: Stage) -> None:
        await _limited(stage, entries_per_poll=2)
        feed = await stage.add("/feed", document(numbered(1, 2, 3, 4, 5, 6)), quota=times)

        await stage.poll(feed)

        assert len(await stage.entries()) == stored
        assert ("Own setting" in await _words(stage, feed)) == (times is not None)

    play(story)


def test_only_the_last_revisions_of_an_entry_are_kept(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _limited(stage, revisions_per_entry=2)
        bodies = [  # the text does not change with every document: that would be a volatile field
            rss(item(1, text=f"Text {number}."), extra=extra)
            for number in range(5)
            for extra in ("", "<ttl>60</ttl>")
        ]
        feed = await stage.add("/feed", *map(document, bodies))

        await stage.poll(feed, times=10)

        (entry,) = await stage.entries()
        kept = await stage.services.store.revisions(entry.entry_uid)
        assert entry.revisions == 4
        assert [one.summary for one in kept] == ["Text 2.", "Text 3."]

    play(story)


def test_old_revisions_go_by_age(play: Play) -> None:
    async def story(stage: Stage) -> None:
        texts = [rss(item(1, text=f"Text {number}.")) for number in range(3)]
        feed = await stage.add("/feed", *map(document, texts))
        await stage.poll(feed, times=2)
        stage.later(days=30)
        await stage.poll(feed)
        await stage.reopen(retention=RetentionConfig(revisions_keep_days=20))

        gone = await purge(stage.services)

        (entry,) = await stage.entries()
        assert gone["revisions"] == 1
        assert len(await stage.services.store.revisions(entry.entry_uid)) == 1

    play(story)


def test_entry_with_a_new_id_at_every_poll_is_recognised_and_its_ids_are_few(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _limited(stage, identities_per_entry=4)
        documents = [rss(item(1, guid=f"id-{number}")) for number in range(12)]
        feed = await stage.add("/feed", *map(document, documents))

        await stage.poll(feed, times=12)

        assert len(await stage.entries()) == 1
        (known,) = await stage.services.store.current_document(feed.id)
        assert len(known.keys) <= 4 + 3  # what one document adds at once
        assert (await stage.services.store.problems()) == ()

    play(story)


def test_identities_of_deleted_entries_go_by_age_and_the_oldest_beyond_the_quota(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", *(document(numbered(number)) for number in range(1, 5)))
        for _ in range(4):
            await stage.poll(feed)
            stage.later(days=1)
        stage.later(days=40)
        assert (await purge(stage.services))["entries"] == 3
        await _limited(stage, identities_per_feed=2)

        over = await purge(stage.services)

        assert over["identities"] == 1
        assert await _told(stage) == [{"reason": "identities-per-feed", "deleted": 1}]
        await stage.reopen(retention=RetentionConfig(identities_keep_days=20))
        assert (await purge(stage.services))["identities"] == 2
        assert (await stage.services.store.problems()) == ()
        stage.publish(feed, document(numbered(1, 4)))
        await stage.poll(feed)
        assert [event.type for event in await stage.events()][-1] == "new_entry"  # new again

    play(story)


def test_oldest_raw_documents_beyond_the_quota_go_and_the_last_one_stays(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", *(document(numbered(number)) for number in range(1, 5)))
        await stage.poll(feed, times=4)
        before = await stage.services.store.blobs()
        await _limited(stage, raw_bytes=before[0].length * 5 // 2)

        await purge(stage.services)

        kept = {one.sha256 for one in await stage.services.store.blobs()}
        fetches = await stage.fetches(feed)
        assert kept == {one.body_sha256 for one in sorted(fetches, key=lambda f: f.fetched_at)[-2:]}
        assert [(one["reason"], one["deleted"]) for one in await _told(stage)] == [("raw-bytes", 2)]
        await stage.services.store.change_feed(
            replace(feed, overrides=replace(feed.overrides, quota=0.0))
        )
        await _limited(stage, raw_bytes=1)
        assert (await purge(stage.services))["documents"] == 0

    play(story)
