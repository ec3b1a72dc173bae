"""The one log of events: gapless, resumable, and each event once in the files (D29, 002 §9)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import item, numbered, paper, rss, said

from feedmill.adapters.sinks import NdjsonSink
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.retention import purge
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.cli.long_running import deliver_to_sinks
from feedmill_demo.server.script import document


async def _busy_day(stage: Stage) -> None:
    """Three feeds with news, edits, failures and recoveries."""
    edited = document(rss(item(1, text="Better."), item(2), item(3)))
    one = await stage.add("/one", paper(1, 2), edited, said(410), paper(1, 2, 3, 4))
    two = await stage.add("/two", paper(11, 12, 13), paper(11, 12, 13, 14))
    three = await stage.add("/three", said(404), paper(21))
    await stage.poll(one, two, three, times=4)


def _tap(stage: Stage) -> NdjsonSink:
    """The file tap, freshly opened as after a restart."""
    return NdjsonSink(Path(stage.config.store.home) / "out")


def _lines(home: Path) -> list[dict[str, Any]]:
    files = sorted((home / "out" / "events").glob("*.ndjson"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_numbers_have_no_gaps_and_no_repeats(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _busy_day(stage)

        events = await stage.events()

        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len({event.id for event in events}) == len(events)
        assert await stage.services.store.last_seq() == len(events)
        kinds = {event.type for event in events}
        assert kinds == {"feed.added", "new_entry", "entry.updated", "feed.state"}

    play(story)


def test_events_of_one_document_keep_its_order(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(5, 3, 9, 1))

        await stage.poll(feed)

        told = [event.data["title"] for event in await stage.events("new_entry")]
        assert told == ["Title 5", "Title 3", "Title 9", "Title 1"]

    play(story)


def test_events_of_a_poll_under_way_at_the_stop_are_delivered_before_the_end(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2))
        watch = Lifecycle("me")

        async with deliver_to_sinks(stage.services, [_tap(stage)], watch):
            watch.stop()
            await stage.poll(feed)

        events = await stage.events()
        lines = _lines(Path(stage.config.store.home))
        assert [line["seq"] for line in lines] == [event.seq for event in events]
        assert sum(event.type == "new_entry" for event in events) == 2

    play(story)


def test_a_new_entry_is_told_with_the_agreed_payload(play: Play) -> None:
    """002 §9.1, and the raw reference leads to the publisher's own bytes."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1)))

        await stage.poll(feed)

        (event,) = await stage.events("new_entry")
        (entry,) = await stage.entries(feed)
        (fetch,) = await stage.fetches(feed)
        data = event.data
        assert (event.feed_id, event.entry_uid) == (feed.id, entry.entry_uid)
        assert (data["entry_uid"], data["feed_id"]) == (entry.entry_uid, feed.id)
        assert data["canonical_link"] == "https://paper.example/1"
        assert datetime.fromisoformat(data["published"]) == entry.published
        assert datetime.fromisoformat(data["ingested_at"]) == stage.clock.now()
        (ref,) = data["raw_refs"]
        assert ref["fetch_id"] == fetch.fetch_id
        assert fetch.body_sha256 is not None
        body = await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs)
        assert body[ref["offset"] :][: ref["length"]].decode() == item(1)

    play(story)


def test_files_hold_every_event_once_whatever_restarts_in_between(
    play: Play, tmp_path: Path
) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", *(paper(*range(n, n + 5)) for n in range(1, 8)))
        for _ in range(7):
            await stage.poll(feed)
            await deliver_pending(stage.services.store, _tap(stage))
            await stage.reopen()

        lines = _lines(tmp_path)
        events = await stage.events()
        assert [line["seq"] for line in lines] == [event.seq for event in events]
        assert [line["id"] for line in lines] == [event.id for event in events]

    play(story)


def test_a_cursor_that_was_lost_repeats_nothing_in_the_files(play: Play, tmp_path: Path) -> None:
    """A crash after the files and before the cursor: delivered again, written once."""

    async def story(stage: Stage) -> None:
        await _busy_day(stage)
        tap = _tap(stage)
        total = await deliver_pending(stage.services.store, tap)
        await stage.services.store.set_cursor(tap.name, 3)

        again = await deliver_pending(stage.services.store, _tap(stage))

        assert again == total - 3
        assert [line["seq"] for line in _lines(tmp_path)] == list(range(1, total + 1))
        assert await deliver_pending(stage.services.store, _tap(stage)) == 0

    play(story)


def test_each_consumer_has_its_own_cursor_and_may_go_back(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _busy_day(stage)
        store, last = stage.services.store, await stage.services.store.last_seq()

        await store.set_cursor("fast", last)
        await store.set_cursor("slow", 2)
        await stage.reopen()

        store = stage.services.store
        assert (await store.cursor("fast"), await store.cursor("slow")) == (last, 2)
        assert await store.cursor("new") == 0
        assert await store.events(after=last) == ()
        some = await store.events(after=2, limit=3)
        assert [event.seq for event in some] == [3, 4, 5]

    play(story)


def test_events_are_filed_under_the_day_on_which_they_happened(play: Play, tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(1, 2))
        await stage.poll(feed)
        stage.later(days=1)
        await stage.poll(feed)

        await deliver_pending(stage.services.store, _tap(stage))

        names = sorted(path.name for path in (tmp_path / "out" / "events").iterdir())
        assert names == ["2025-10-14.ndjson", "2025-10-15.ndjson"]

    play(story)


def test_numbers_go_on_after_old_events_went(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(1, 2))
        await stage.poll(feed)
        tap = _tap(stage)
        await deliver_pending(stage.services.store, tap)
        last = await stage.services.store.last_seq()
        stage.later(days=60)

        gone = await purge(stage.services)
        await stage.poll(feed)

        assert gone["events"] > 0
        assert await stage.services.store.last_seq() == last + 1
        assert await deliver_pending(stage.services.store, _tap(stage)) == 1

    play(story)
