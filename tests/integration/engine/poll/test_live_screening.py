"""Standing screens on live polling: new entries wait, and a person lets them in."""

from collections.abc import Sequence

from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage, titles
from tests.support.two_phase_steps import answer, insert, on

from feedmill.engine.maintain.retention import purge
from feedmill.engine.poll.replay import replay
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.held_window import held_entries, held_window
from feedmill.errors import UsageError
from feedmill.model.feed import Feed
from feedmill.model.screening import (
    LiveScreen,
    LiveScreenMethod,
    Screening,
    ScreenText,
    Topic,
    TopicSet,
)

TOPICS = TopicSet(name="t", topics=(Topic(id="one", name="One"),), version="1")


async def screened(stage: Stage, feed: Feed, keep_at: float | None = None) -> LiveScreen:
    screen = LiveScreen(
        id=stage.clock.new_id(),
        created_at=stage.clock.now(),
        feed_id=feed.id,
        keep_at=keep_at,
        topics=TOPICS,
    )
    await stage.services.store.add_screen(screen)
    return screen


async def waiting(stage: Stage) -> list[str | None]:
    return sorted((one.title for one in await held_entries(stage.services.store)), key=str)


def judging(services: Services, scores: dict[str, float]) -> Services:
    """The world with a judge who knows titles."""

    async def screen(
        texts: Sequence[ScreenText], topics: TopicSet, method: LiveScreenMethod
    ) -> list[Screening]:
        assert (topics, method) == (TOPICS, "hybrid")
        return [
            Screening(
                candidate_id=text.ref,
                suggestion="keep" if scores[text.title] >= 0.5 else "drop",
                topic="one",
                score=scores[text.title],
                methods=("lexical", "embedding"),
                reason="because",
            )
            for text in texts
        ]

    return services._replace(screen=screen)


def test_new_entries_of_a_screened_feed_wait_and_nobody_is_told(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1), on(2, 2)))
        await screened(stage, feed)

        polled = await stage.poll(feed)

        assert await stage.entries() == []
        assert await stage.events("new_entry") == []
        assert await waiting(stage) == ["Title 1", "Title 2"]
        assert polled.new_entries_last_fetch == 0
        assert polled.schedule.cadence is not None  # it is as lively as it is

    play(story)


def test_what_waits_is_not_news_at_the_next_poll(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)), answer(on(1, 1), on(2, 2)))
        await screened(stage, feed)
        await stage.poll(feed)
        before = await held_entries(stage.services.store)

        await stage.poll(feed)

        after = await held_entries(stage.services.store)
        assert after[: len(before)] == before
        assert await waiting(stage) == ["Title 1", "Title 2"]

    play(story)


def test_what_is_known_already_is_updated_and_other_feeds_are_left_alone(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)), answer(on(1, 1, text="New."), on(2, 2)))
        other = await stage.add("/other", answer(on(3, 3)))
        await stage.poll(feed)
        await screened(stage, feed)

        await stage.poll(feed, other)

        assert titles(await stage.entries()) == ["Title 1", "Title 3"]
        assert len(await stage.events("entry.updated")) == 1
        assert await waiting(stage) == ["Title 2"]

    play(story)


def test_what_waits_is_reviewed_and_inserted_like_a_window(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1), on(2, 2), on(3, 3)))
        await screened(stage, feed)
        await stage.poll(feed)
        window = await held_window(stage.services)
        chosen = next(one.candidate_id for one in window.file.candidates if one.title == "Title 2")

        first = await insert(stage, window.file, [chosen])
        again = await insert(stage, window.file, [chosen])

        assert (first.new, again.new, again.unchanged, first.feeds_added) == (1, 0, 1, 0)
        assert titles(await stage.entries(feed)) == ["Title 2"]
        assert await waiting(stage) == ["Title 1", "Title 3"]
        assert len(await stage.events("new_entry")) == 1

    play(story)


def test_the_rule_lets_through_what_scores_enough(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1), on(2, 2), on(3, 3)))
        await screened(stage, feed, keep_at=0.7)
        stage.services = judging(stage.services, {"Title 1": 0.9, "Title 2": 0.6, "Title 3": 0.1})

        await stage.poll(feed)

        assert titles(await stage.entries()) == ["Title 1"]
        assert len(await stage.events("new_entry")) == 1
        window = await held_window(stage.services)
        scores = {one.candidate_id: one.score for one in window.screenings}
        assert {one.title: scores[one.candidate_id] for one in window.file.candidates} == {
            "Title 2": 0.6,
            "Title 3": 0.1,
        }

    play(story)


def test_a_judge_who_fails_lets_nothing_through(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)))
        await screened(stage, feed, keep_at=0.1)

        async def screen(*_: object) -> list[Screening]:
            message = "no judge today"
            raise UsageError(message)

        stage.services = stage.services._replace(screen=screen)
        await stage.poll(feed)

        assert await stage.entries() == []
        assert await waiting(stage) == ["Title 1"]

    play(story)


def test_what_waits_goes_on_waiting_when_its_screen_is_gone(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add(
            "/feed", answer(on(1, 1)), answer(on(1, 1, text="In other words."), on(2, 2))
        )
        screen = await screened(stage, feed)
        await stage.poll(feed)
        await stage.services.store.remove_screen(screen.id)

        await stage.poll(feed)

        assert titles(await stage.entries()) == ["Title 2"]
        assert await waiting(stage) == ["Title 1"]
        window = await held_window(stage.services)
        assert window.file.candidates[0].summary == "In other words."

    play(story)


def test_what_was_dropped_never_comes_back(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)), answer(on(1, 1), on(2, 2)))
        await screened(stage, feed)
        await stage.poll(feed)
        (held,) = await held_entries(stage.services.store)

        dropped = await stage.services.store.reject_held([held.entry_uid, "nobody"])
        await stage.poll(feed)

        assert dropped == 1
        assert await waiting(stage) == ["Title 2"]
        assert await stage.entries() == []

    play(story)


def test_reading_a_document_again_lets_nothing_in(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)))
        await screened(stage, feed)
        feed = await stage.poll(feed)
        stage.later(seconds=1)

        await replay(feed, stage.services, write=True)

        assert await stage.entries() == []
        assert await waiting(stage) == ["Title 1"]

    play(story)


def test_the_bytes_of_what_waits_are_never_let_go(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)), answer(on(5, 5)))
        await screened(stage, feed)
        await stage.poll(feed)
        (held,) = await held_entries(stage.services.store)
        await stage.poll(feed)
        stage.later(days=400)

        await purge(stage.services)

        assert await stage.services.store.blob(held.body_sha256) is not None
        await insert(stage, (await held_window(stage.services)).file)
        assert titles(await stage.entries()) == ["Title 1", "Title 5"]

    play(story)


def test_what_waits_stays_waiting_when_two_feeds_become_one(play: Play) -> None:
    async def story(stage: Stage) -> None:
        loser = await stage.add("/feed", answer(on(1, 1)))
        winner = await stage.add("/other", answer(on(2, 2)))
        await screened(stage, loser)
        await stage.poll(loser)

        await stage.services.store.merge_feeds(loser.id, winner.id, at=stage.clock.now())

        window = await held_window(stage.services)
        assert [one.title for one in window.file.candidates] == ["Title 1"]
        assert (await insert(stage, window.file)).new == 1
        assert await waiting(stage) == []
        (screen,) = await stage.services.store.screens()
        assert screen.feed_id == winner.id

    play(story)


def test_a_screen_of_a_tag_holds_for_every_feed_with_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(on(1, 1)))
        await stage.services.store.change_feed(replace(feed, tags=("green",)))
        screen = LiveScreen(id="s", created_at=stage.clock.now(), tag="green")
        await stage.services.store.add_screen(screen)

        await stage.poll(feed)

        assert await waiting(stage) == ["Title 1"]
        assert await stage.services.store.screens() == (screen,)

    play(story)


def test_what_cannot_be_read_any_more_is_noted_and_the_rest_is_exported(play: Play) -> None:
    async def story(stage: Stage) -> None:
        lost = await stage.add("/lost", answer(on(1, 1)))
        fine = await stage.add("/fine", answer(on(2, 2)))
        for feed in (lost, fine):
            await screened(stage, feed)
        await stage.poll(lost, fine)
        (held,) = await held_entries(stage.services.store, feeds=(lost,))

        ref = await stage.services.store.blob(held.body_sha256)
        assert ref is not None
        await stage.services.store.move_blobs([replace(ref, segment="nowhere")])
        window = await held_window(stage.services)

        assert [one.title for one in window.file.candidates] == ["Title 2"]
        assert sorted(one.note for one in window.file.sources) == [
            "",
            "a raw document is not kept any more",
        ]

    play(story)


def test_many_waiting_entries_are_exported_page_by_page(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer(*(on(1, number) for number in range(1_203))))
        await screened(stage, feed)
        await stage.poll(feed)

        window = await held_window(stage.services, feeds=(feed,))
        done = await insert(stage, window.file)

        assert (len(window.file.candidates), done.new) == (1_203, 1_203)
        assert await waiting(stage) == []

    play(story)
