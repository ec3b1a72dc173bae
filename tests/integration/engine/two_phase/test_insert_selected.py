"""Inserting what somebody confirmed: as polling would, once, and not a row before all is checked."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage, opened, titles
from tests.support.feed_documents import item
from tests.support.two_phase_steps import answer, collect, confirmation, insert, on

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.retention import purge
from feedmill.engine.two_phase.candidates import with_checksum
from feedmill.engine.two_phase.insert_selected import insert_selected
from feedmill.errors import CandidateError
from feedmill.model.candidate import CandidateFile


async def refused(stage: Stage, file: CandidateFile, ids: Sequence[int], **facts: Any) -> str:
    """The reason why an insertion is refused; it has to leave the store as it was."""
    before, seq = await stage.counts(), await stage.services.store.last_seq()
    word = replace(confirmation(file, ids), **facts)
    with pytest.raises(CandidateError) as problem:
        await insert_selected(file, ids, word, stage.services)
    assert await stage.counts() == before
    assert await stage.services.store.last_seq() == seq
    return problem.value.reason


def test_a_feed_that_nobody_subscribed_to_is_added_paused(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1), on(2, 2), on(3, 3)))
        file = await collect(stage, "/a")

        done = await insert(stage, file, [1, 3])

        assert (done.selected, done.new, done.feeds_added) == (2, 2, 1)
        assert titles(await stage.entries()) == ["Title 1", "Title 3"]
        (feed,) = (await stage.services.store.feeds()).items
        assert (feed.paused, feed.tags, feed.title) == (True, ("collected",), "Paper")
        assert feed.validators is None
        assert await stage.pass_once() == 0  # nobody polls it
        assert [one.type for one in await stage.events()] == [
            "feed.added",
            "new_entry",
            "new_entry",
        ]

    play(story)


def test_inserted_entries_point_at_their_exact_bytes(play: Play) -> None:
    async def story(stage: Stage) -> None:
        sent = answer(on(1, 1), on(2, 2))
        stage.publisher.script("/a", sent)
        file = await collect(stage, "/a")

        done = await insert(stage, file, [1])

        entry = await stage.services.store.entry(done.entry_uids[0])
        assert entry is not None
        (ref,) = entry.raw_refs
        fetch = await stage.services.store.fetch(ref.fetch_id)
        assert fetch is not None
        assert fetch.body_sha256 is not None
        raw = await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs)
        assert raw == sent.body
        assert ref.offset is not None
        assert ref.length is not None
        assert b"Title 2" in raw[ref.offset : ref.offset + ref.length]
        fetch = await stage.services.store.fetch(ref.fetch_id)
        assert fetch is not None
        assert (fetch.outcome, fetch.entries_new) == ("inserted", 1)

    play(story)


def test_inserting_is_what_polling_would_have_done(play: Play) -> None:
    async def story(stage: Stage) -> None:
        sent = answer(on(1, 1), on(2, 2, text="<p>With <b>markup</b></p>"), item(3, date=None))
        stage.publisher.script("/a", sent)
        await insert(stage, await collect(stage, "/a"))
        inserted = {one.title: one for one in await stage.entries()}
        feed = await stage.add("/b", sent)
        feed = await stage.poll(feed)

        polled = {one.title: one for one in await stage.entries(feed)}

        for title, one in polled.items():
            other = inserted[title]
            assert (one.content_hash, one.article_hash) == (other.content_hash, other.article_hash)
            assert (one.summary, one.content, one.published) == (
                other.summary,
                other.content,
                other.published,
            )

    play(story)


def test_a_second_run_inserts_nothing_and_writes_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1), on(2, 2)))
        file = await collect(stage, "/a")
        await insert(stage, file)
        before, seq = await stage.counts(), await stage.services.store.last_seq()

        again = await insert(stage, file)

        assert (again.new, again.unchanged, again.feeds_added) == (0, 2, 0)
        assert await stage.counts() == before
        assert await stage.services.store.last_seq() == seq

    play(story)


def test_entries_that_another_insertion_stored_meanwhile_are_unchanged_and_not_new(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1), on(2, 2)))
        file, store = await collect(stage, "/a"), stage.services.store
        ids = [one.candidate_id for one in file.candidates]
        late = stage.services._replace(store=OvertakenStore(store, insert(stage, file, ids[:1])))

        done = await insert_selected(file, ids, confirmation(file, ids), late)

        assert (done.new, done.unchanged, done.skipped) == (1, 1, 0)
        assert len(done.entry_uids) == 1

    play(story)


class OvertakenStore:
    """The real store; another insertion runs right before the first commit."""

    def __init__(self, store: Any, other: Awaitable[Any]) -> None:
        self._store = store
        self._other: Awaitable[Any] | None = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, refresh: Any) -> Any:
        other, self._other = self._other, None
        if other is not None:
            await other
        return await self._store.commit(refresh)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(choices=st.lists(st.sets(st.integers(1, 5), min_size=1), min_size=1, max_size=4))
def test_whatever_is_chosen_in_whatever_order_each_candidate_is_new_once(
    choices: list[set[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def story() -> None:
        async with opened(tmp_path_factory.mktemp("mill")) as stage:
            stage.publisher.script("/a", answer(on(1, 1), on(2, 2), item(3, date=None)))
            stage.publisher.script("/b", answer(on(1, 4), on(2, 5)))
            file = await collect(stage, "/a", "/b")
            seen: set[int] = set()
            for choice in choices:
                done = await insert(stage, file, sorted(choice))
                assert (done.new, done.unchanged) == (len(choice - seen), len(choice & seen))
                seen |= choice
            assert len(await stage.entries()) == len(seen)

    asyncio.run(story())


def test_a_subscribed_feed_keeps_its_state_and_its_next_poll_finds_nothing_new(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1), etag='"1"'))
        feed = await stage.poll(feed)
        stage.publish(feed, answer(on(1, 1, text="Other words."), on(2, 2), etag='"2"'))
        file = await collect(stage, "/feed")

        done = await insert(stage, file)

        assert (done.new, done.updated, done.feeds_added) == (1, 1, 0)
        assert await stage.feed(feed) == feed
        after = await stage.poll(feed)
        assert after.new_entries_last_fetch == 0
        assert len(await stage.entries()) == 2
        assert len(await stage.events("new_entry")) == 2

    play(story)


def test_entries_of_older_pages_are_inserted_as_well(play: Play) -> None:
    async def story(stage: Stage) -> None:
        link = f'<atom:link rel="next" href="{stage.publisher.url("/a2")}"/>'
        stage.publisher.script("/a", answer(on(6, 1), extra=link))
        stage.publisher.script("/a2", answer(on(2, 2), on(-1, 3)))
        file = await collect(stage, "/a")

        done = await insert(stage, file)

        assert (done.new, done.feeds_added) == (2, 1)
        assert titles(await stage.entries()) == ["Title 1", "Title 2"]

    play(story)


async def test_a_file_is_inserted_into_another_mill(tmp_path: Path) -> None:
    async with opened(tmp_path / "here") as here:
        here.publisher.script("/a", answer(on(1, 1)))
        file = await collect(here, "/a")
    async with opened(tmp_path / "there") as there:
        done = await insert(there, file)

        assert done.new == 1
        assert titles(await there.entries()) == ["Title 1"]
        assert there.publisher.requests == ()


def test_a_document_that_is_not_in_the_file_comes_from_the_raw_store_or_is_missed(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        file = await collect(stage, "/a")
        lean = with_checksum(
            replace(file, documents=tuple(replace(d, body=b"") for d in file.documents))
        )
        lost = with_checksum(
            replace(
                file,
                documents=tuple(replace(d, body=b"", body_sha256="f" * 64) for d in file.documents),
            )
        )

        assert await refused(stage, lost, [1]) == "raw-missing"
        assert (await insert(stage, lean)).new == 1

    play(story)


def test_everything_is_checked_before_anything_is_written(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1), on(2, 2)))
        stage.publisher.script("/b", answer(on(1, 3)))
        file = await collect(stage, "/a", "/b")
        other = with_checksum(replace(file, prompt="another"))
        moved = [replace(one, slice_offset=5) if one.source else one for one in file.candidates]
        forged = with_checksum(replace(file, candidates=tuple(moved)))
        nowhere = with_checksum(
            replace(file, candidates=tuple(replace(one, document=9) for one in file.candidates))
        )
        everything = [1, 2, 3]

        assert await refused(stage, file, [1, 99]) == "unknown-id"
        assert await refused(stage, file, []) == "bad-selection"
        assert await refused(stage, file, everything, candidate_ids=(1, 2)) == "not-confirmed"
        assert await refused(stage, file, everything, file_digest=other.digest) == "other-file"
        assert await refused(stage, forged, everything) == "no-such-item"
        assert await refused(stage, nowhere, everything) == "malformed"
        assert (await insert(stage, file)).new == 3

    play(story)


def test_an_unchosen_twin_does_not_make_the_chosen_entry_a_duplicate(play: Play) -> None:
    async def story(stage: Stage) -> None:
        twins = (on(1, 1, guid="a"), on(1, 1, guid="b"))
        stage.publisher.script("/a", answer(*twins, on(2, 2)))
        file = await collect(stage, "/a")
        second = max(one.candidate_id for one in file.candidates)

        await insert(stage, file, [second])

        (event,) = await stage.events("new_entry")
        assert event.data["duplicate_article"] is False
        assert (await stage.counts())["articles"] == 1

    play(story)


def test_retention_keeps_collected_documents_for_their_time(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        file = await collect(stage, "/a")
        digest = file.documents[0].body_sha256

        await purge(stage.services)
        young = await stage.services.store.blob(digest)
        stage.later(days=91)
        await purge(stage.services)
        old = await stage.services.store.blob(digest)
        gone = await purge(stage.services)

        assert young is not None
        assert old is None
        assert gone["collected"] == 1

    play(story)


def test_an_older_window_does_not_overwrite_newer_text(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add(
            "/week", answer(on(1, 1, text="Old.")), answer(on(1, 1, text="New."))
        )
        window = await collect(stage, "/week")
        stage.later(hours=1)
        await stage.poll(feed)

        done = await insert(stage, window)

        (entry,) = await stage.entries()
        assert entry.summary == "New."
        assert (done.updated, done.skipped) == (0, 1)
        assert done.skipped_reasons[1].startswith("older-than-stored")

    play(story)


def test_a_newer_window_brings_an_entry_up_to_date(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add(
            "/week", answer(on(1, 1, text="Old.")), answer(on(1, 1, text="New."))
        )
        await stage.poll(feed)
        stage.later(hours=1)

        done = await insert(stage, await collect(stage, "/week"))

        (entry,) = await stage.entries()
        assert (entry.summary, done.updated) == ("New.", 1)

    play(story)


def test_two_windows_that_are_inserted_late_keep_the_newer_text_in_either_order(play: Play) -> None:
    """What counts is when a window was collected, not when it was inserted."""

    async def story(stage: Stage) -> None:
        await stage.add("/week", answer(on(1, 1, text="Old.")), answer(on(1, 1, text="New.")))
        first = await collect(stage, "/week")
        stage.later(hours=1)
        second = await collect(stage, "/week")
        stage.later(hours=1)

        done = [await insert(stage, one) for one in (first, second, first)]

        (entry,) = await stage.entries()
        assert entry.summary == "New."
        assert [(one.new, one.updated, one.skipped) for one in done] == [
            (1, 0, 0),
            (0, 1, 0),
            (0, 0, 1),
        ]

    play(story)
