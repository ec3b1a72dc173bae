"""Collecting a window: politely, whole, and without storing a single entry."""

from typing import Any

import pytest
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import item
from tests.support.two_phase_steps import MONDAY, answer, collect, on, shown

from feedmill.engine.two_phase import collect_window
from feedmill.engine.two_phase.candidates import (
    decode_candidates,
    drafts_of,
    encode_canonical,
    unpack_body,
)
from feedmill.errors import StoreError
from feedmill.model.candidate import Window
from feedmill.model.feed import FeedOverrides
from feedmill_demo.server.script import Answer, redirect


def test_the_window_is_half_open_and_undated_entries_are_flagged(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script(
            "/a",
            answer(
                on(-0.0001, 1),  # Sunday, a moment before midnight
                on(0, 2),
                on(6.9999, 3),
                on(7, 4),  # the next Monday
                item(5, date=None),
                item(6, date="some day"),
            ),
        )

        file = await collect(stage, "/a")

        assert file.window == Window(start=MONDAY, end=MONDAY.replace(day=13))
        assert shown(file) == ["Title 2", "Title 3", "Title 5", "Title 6"]
        assert {one.title for one in file.candidates if one.is_undated} == {"Title 5", "Title 6"}
        (report,) = file.sources
        assert (report.outcome, report.items, report.in_window, report.undated) == ("ok", 6, 2, 2)
        assert decode_candidates(encode_canonical(file)) == file

    play(story)


def test_nothing_becomes_an_entry_and_no_validator_is_sent_or_kept(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1), etag='"1"'))
        feed = await stage.poll(feed)
        stage.publish(feed, answer(on(1, 1), on(2, 2), etag='"2"'))
        before, events = await stage.counts(), await stage.events()

        file = await collect(stage, "/feed", "/other")

        after = await stage.counts()
        assert shown(file) == ["Title 1", "Title 2"]
        assert stage.requests()[-1].header("if-none-match") is None
        assert await stage.feed(feed) == feed
        assert {k: v for k, v in after.items() if k != "blobs"} == {
            k: v for k, v in before.items() if k != "blobs"
        }
        assert await stage.events() == events

    play(story)


def test_the_raw_document_is_kept_and_travels_with_the_file(play: Play) -> None:
    async def story(stage: Stage) -> None:
        sent = answer(on(1, 1))
        stage.publisher.script("/a", sent)

        file = await collect(stage, "/a")

        (document,) = file.documents
        ref = await stage.services.store.blob(document.body_sha256)
        assert ref is not None
        assert await stage.services.blobs.get(ref) == sent.body
        assert unpack_body(document.body, document.body_sha256, 10_000) == sent.body
        (one,) = file.candidates
        assert one.slice_offset is not None
        assert one.slice_length is not None
        cut = sent.body[one.slice_offset : one.slice_offset + one.slice_length]
        assert cut.startswith(b"<item>")

    play(story)


def test_a_known_entry_is_flagged_and_so_is_one_of_another_feed(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)))
        await stage.poll(feed)
        stage.publisher.script("/copy", answer(on(1, 1), on(1, 2)))

        file = await collect(stage, "/feed", "/copy")

        flags = {one.title: (one.is_known, one.also_in) for one in file.candidates}
        assert flags == {"Title 1": (True, (1,)), "Title 2": (False, ())}
        copy = await collect(stage, "/copy")
        assert {one.title: one.is_known_elsewhere for one in copy.candidates} == {
            "Title 1": True,
            "Title 2": False,
        }

    play(story)


def test_a_source_that_fails_is_reported_and_the_rest_goes_on(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        stage.publisher.script("/page", Answer(body=b"<html><body>Hello</body></html>"))
        stage.publisher.script("/broken", Answer(status=500))
        stage.publisher.script("/gone", Answer(status=410))

        file = await collect(
            stage, "/page", "/broken", "/a", "/missing", "/gone", "http://10.0.0.1/feed", "://"
        )

        assert [(one.outcome, one.reason) for one in file.sources] == [
            ("failed", "html-page"),
            ("failed", "server-error"),
            ("ok", ""),
            ("failed", "not-found"),
            ("failed", "gone"),
            ("failed", "private-address"),
            ("failed", "scheme"),
        ]
        assert [one.source for one in file.candidates] == [2]

    play(story)


def test_older_pages_are_followed_while_the_window_reaches_back_further(play: Play) -> None:
    async def story(stage: Stage) -> None:
        def older(target: str, rel: str = "next") -> str:
            return f'<atom:link rel="{rel}" href="{stage.publisher.url(target)}"/>'

        stage.publisher.script("/a", answer(on(6, 1), on(5, 2), extra=older("/a2", "prev-archive")))
        stage.publisher.script("/a2", answer(on(5, 2), on(3, 3), extra=older("/a3")))
        stage.publisher.script("/a3", answer(on(1, 4), on(-1, 5), extra=older("/a4")))
        stage.publisher.script("/a4", answer(on(-3, 6)))

        file = await collect(stage, "/a")
        short = await collect(stage, "/a", pages=2)

        assert shown(file) == ["Title 1", "Title 2", "Title 3", "Title 4"]
        (report,) = file.sources
        assert (report.pages, report.reaches_back, report.repeats) == (3, True, 1)
        assert stage.requests("/a4") == ()
        assert shown(short) == ["Title 1", "Title 2", "Title 3"]
        assert not short.sources[0].reaches_back
        assert "older pages" in short.sources[0].note

    play(story)


def test_pages_that_lead_in_a_circle_away_or_nowhere_end(play: Play) -> None:
    async def story(stage: Stage) -> None:
        def older(url: str) -> str:
            return f'<atom:link rel="next" href="{url}"/>'

        circle = stage.publisher.url("/a")
        stage.publisher.script("/a", answer(on(6, 1), extra=older(circle)))
        stage.publisher.script("/b", answer(on(6, 2), extra=older("http://127.0.1.1/elsewhere")))
        broken = stage.publisher.url("/c2")
        stage.publisher.script("/c", answer(on(6, 3), extra=older(broken)))

        file = await collect(stage, "/a", "/b", "/c")

        assert shown(file) == ["Title 1", "Title 2", "Title 3"]
        assert [len(stage.requests(path)) for path in ("/a", "/b", "/c", "/c2")] == [1, 1, 1, 1]
        assert file.sources[2].outcome == "ok"
        assert "not-found" in file.sources[2].note

    play(story)


def test_a_redirected_source_belongs_to_the_feed_that_it_leads_to(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)))
        await stage.poll(feed)
        stage.publisher.script("/old", redirect(stage.publisher.url("/feed")))

        file = await collect(stage, "/old")

        assert file.sources[0].feed_id == feed.id
        assert file.candidates[0].is_known

    play(story)


def test_credentials_go_to_their_host_and_stand_nowhere_in_the_file(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        url = stage.publisher.url("/a").replace("http://", "http://ada:secret@")

        file = await collect(stage, url)

        assert stage.requests("/a")[0].header("authorization") is not None
        assert b"secret" not in encode_canonical(file)

    play(story)


def test_a_subscription_is_asked_with_its_own_headers(play: Play) -> None:
    async def story(stage: Stage) -> None:
        own = FeedOverrides(headers=(("X-Key", "7"),))
        await stage.add("/feed", answer(on(1, 1)), headers=own.headers)

        await collect(stage, "/feed")

        assert stage.requests()[0].header("x-key") == "7"

    play(story)


def test_a_host_that_asks_for_patience_is_left_alone(play: Play) -> None:
    async def story(stage: Stage) -> None:
        busy = Answer(status=429, headers=(("Retry-After", "3600"),))
        stage.publisher.script("/busy", busy)
        stage.publisher.script("/after", answer(on(1, 1)))

        file = await collect(stage, "/busy", "/after")
        again = await collect(stage, "/busy")

        assert file.sources[0].reason == "rate-limited"
        assert again.sources[0].reason == "rate-limited"
        assert len(stage.requests("/busy")) == 1

    play(story)


def test_sources_of_one_host_are_asked_one_after_the_other(play: Play) -> None:
    async def story(stage: Stage) -> None:
        paths = [f"/{number}" for number in range(4)]
        for number, path in enumerate(paths):
            stage.publisher.script(path, answer(on(1, number)))

        file = await collect(stage, *paths)

        offsets = [stage.requests(path)[0].offset_sec for path in paths]
        assert len(file.candidates) == 4
        assert offsets == sorted(offsets)
        assert len({stage.requests(path)[0].connection for path in paths}) == 1

    play(story)


def test_a_fault_of_our_own_costs_one_source(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        stage.publisher.script("/b", answer(on(1, 2)))
        real = drafts_of

        def stumbling(*given: Any, **named: Any) -> Any:
            if named["source"] == 0:
                raise ZeroDivisionError
            return real(*given, **named)

        monkeypatch.setattr(collect_window, "drafts_of", stumbling)
        file = await collect(stage, "/a", "/b")

        assert [(one.outcome, one.reason) for one in file.sources] == [
            ("failed", "surprise"),
            ("ok", ""),
        ]
        assert shown(file) == ["Title 2"]

    play(story)


def test_a_store_that_cannot_keep_ends_the_collection(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))

        async def full(*_: object) -> None:
            message = "the disk is full"
            raise StoreError(message, reason="disk-full")

        monkeypatch.setattr(stage.services.store, "save_collected", full)

        with pytest.raises(ExceptionGroup) as group:
            await collect(stage, "/a")

        assert isinstance(group.value.exceptions[0], StoreError)

    play(story)
