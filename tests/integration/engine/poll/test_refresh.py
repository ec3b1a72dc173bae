"""The order of one refresh: raw before parse, what is not a feed, lost leases, a feed's own wishes."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Play, Stage
from tests.support.feed_documents import numbered, paper

from feedmill.engine.documents import read_document
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.poll.scheduler import run_once
from feedmill.model.fetch import RawResponse
from feedmill_demo.server.script import document

_PAGE = b"<!doctype html><html><head><title>Log in</title></head><body>Log in</body></html>"


@pytest.mark.parametrize("kind", ["text/html", "application/rss+xml"])
def test_a_page_in_the_feeds_place_is_kept_named_and_believed_in_nothing(
    play: Play, kind: str
) -> None:
    """Its validators are not stored; those of the last document go on vouching for it."""

    async def story(stage: Stage) -> None:
        feed_document, page = paper(1, 2, etag='"a"'), document(_PAGE, kind, etag='"page"')
        feed = await stage.add("/feed", feed_document, page, feed_document)
        await stage.poll(feed)

        after = await stage.poll(feed)

        assert (after.schedule.consecutive_failures, after.last_status) == (1, 200)
        assert len(await stage.entries(feed)) == 2
        fetch = (await stage.fetches(feed))[-1]
        assert fetch.outcome == after.last_result
        assert fetch.outcome not in ("fresh", "unchanged", "same-body")
        assert fetch.body_sha256 is not None
        assert (
            await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs) == _PAGE
        )
        healed = await stage.poll(feed)
        assert stage.requests()[2].header("if-none-match") == '"a"'
        assert (healed.last_result, healed.schedule.health) == ("unchanged", "active")

    play(story)


def test_what_nobody_can_read_is_kept_all_the_same(play: Play) -> None:
    async def story(stage: Stage) -> None:
        noise = b"\x00\x01 neither XML nor JSON"
        feed = await stage.add("/feed", document(noise))

        await stage.poll(feed)

        (fetch,) = await stage.fetches(feed)
        assert fetch.body_sha256 is not None
        assert (
            await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs) == noise
        )

    play(story)


def test_large_documents_leave_the_event_loop_and_read_the_same(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(*range(200))))

        await stage.poll(feed)

        assert len(await stage.entries(feed)) == 200

    play(story, run=replace(PLAIN.run, parse_in_thread_bytes=1_000))


def test_a_new_reader_reads_the_same_body_again_and_tells_nobody(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D31."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2))
        await stage.poll(feed)
        log = await stage.events()
        monkeypatch.setattr(read_document, "READER", "parse-9.normalise-9")

        outcomes = []
        for _ in range(2):
            await stage.poll(feed)
            outcomes.append(await stage.outcome(feed))

        assert outcomes == ["fresh", "same-body"]
        assert await stage.events() == log
        assert [entry.seen_count for entry in await stage.entries(feed)] == [3, 3]

    play(story)


def test_a_feed_has_its_own_name_and_its_own_bounds(play: Play) -> None:
    async def story(stage: Stage) -> None:
        own: dict[str, Any] = {"min_interval_sec": 7_200, "max_interval_sec": 10_000}
        feed = await stage.add(
            "/feed", paper(1), user_agent="special/1 (+https://x.example)", **own
        )

        await stage.poll(feed)
        waits = []
        for _ in range(4):
            await stage.poll(feed)
            waits.append((await stage.wait_until_due(feed)).total_seconds())

        assert stage.requests()[0].header("user-agent") == "special/1 (+https://x.example)"
        assert all(7_200 <= wait <= 10_000 for wait in waits)

    play(story)


def test_a_long_lane_keeps_its_lease(play: Play) -> None:
    """It is renewed before a request that could outlast it."""

    async def story(stage: Stage) -> None:
        for number in range(3):
            await stage.add(f"/{number}", replace(paper(number), delay_sec=0.25))

        assert await stage.pass_once() == 3

        assert len(await stage.entries()) == 3
        assert await stage.pass_once() == 0

    # A fetch may take 10 s and is given 5 s more: the second one does not fit any more.
    play(story, run=replace(PLAIN.run, lease_sec=15.2))


def test_whoever_lost_the_lane_writes_nothing(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        before = await stage.events()
        is_taken, fetch = asyncio.Event(), stage.services.fetcher.fetch

        async def fetch_slowly(*given: Any, **named: Any) -> RawResponse:
            response = await fetch(*given, **named)
            await is_taken.wait()
            return response

        monkeypatch.setattr(stage.services.fetcher, "fetch", fetch_slowly)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_once(stage.services, stage.watch()))
            await stage.publisher.seen("/feed")
            stage.later(minutes=2)
            store, now = stage.services.store, stage.clock.now()
            await store.make_due([feed.id], now)
            (taken,) = await store.claim("another", now=now, lease_sec=60, max_lanes=1, max_feeds=1)
            is_taken.set()

        assert len(stage.done) == 1
        assert await stage.entries() == []
        assert await stage.events() == before
        assert await stage.fetches(feed) == []
        pace = taken.lane.pace
        await store.release(taken.lane, pace, now=now, deferred=[(feed.id, now)])
        assert await stage.pass_once() == 1
        assert len(await stage.entries()) == 1

    play(story)


def test_a_refresh_is_committed_once_per_run(play: Play) -> None:
    """D26: the same run again is told apart by its feed and its time."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(1, 2))
        await stage.pass_once()
        (done,) = stage.done

        again = await stage.services.store.commit(replace(done, lane=None))

        assert again.duplicate
        assert len(await stage.fetches(feed)) == 1
        assert await stage.wait_until_due(feed) > timedelta(0)

    play(story)
