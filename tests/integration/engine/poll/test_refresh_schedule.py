"""What a poll teaches the schedule: the pace of a feed, learnt from its documents or from what is stored."""

from datetime import timedelta

import msgspec
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper

from feedmill.config import ScheduleConfig
from feedmill.schedule.decide import config_of, decide_again

BUDGET = ScheduleConfig()


def test_the_first_document_teaches_the_pace_and_later_ones_add_to_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, 3), paper(1, 2, 3, 4), paper(1, 2, 3, 4))

        first = await stage.poll(feed)
        stage.later(hours=3)
        second = await stage.poll(feed)

        known, then = first.schedule.arrivals, second.schedule.arrivals
        assert known is not None
        assert then is not None
        assert (known.entries, known.window) == (3, 3)
        assert (then.entries, then.window) == (4, 4)
        times = await stage.services.store.arrival_times(feed.id)
        assert len(times) == 4
        assert times[-1] >= int((stage.clock.now() - timedelta(hours=3, minutes=1)).timestamp())

    play(story, schedule=BUDGET)


def test_a_recorded_decision_is_replayed_exactly_from_the_store(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, 3), paper(1, 2, 3, 4), paper(1, 2, 3, 4))
        for _ in range(3):
            await stage.poll(feed)
            stage.later(hours=5)

        decisions = await stage.services.store.decisions(feed.id, 10)

        assert [one.reason for one in decisions][1:] == ["new-entries", "new-entries"]
        assert all(config_of(one) == BUDGET for one in decisions)
        assert all(decide_again(one.inputs, config_of(one)) == one for one in decisions)

    play(story, schedule=BUDGET)


def test_a_feed_of_an_earlier_version_learns_its_pace_from_what_is_stored(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, 3), paper(1, 2, 3))
        before = await stage.poll(feed)
        known = before.schedule.arrivals
        assert known is not None
        # As it was before the pace was kept: the entries are there, the state is not.
        forgotten = replace(before, schedule=replace(before.schedule, arrivals=None))
        last = stage.done[-1]
        fetch = replace(last.fetch, fetch_id=stage.clock.new_id(), scheduled_at=stage.clock.now())
        await stage.services.store.commit(
            msgspec.structs.replace(
                last, lane=None, feed=forgotten, fetch=fetch, changes=None, events=(), arrived=()
            )
        )

        after = await stage.poll(feed)

        assert stage.done[-1].fetch.outcome == "same-body"
        learnt = after.schedule.arrivals
        assert learnt is not None
        assert (learnt.entries, learnt.events, learnt.hours) == (
            known.entries,
            known.events,
            known.hours,
        )

    play(story, schedule=BUDGET)


def test_a_feed_that_always_sends_its_whole_document_is_polled_less(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", *[paper(1, 2, 3)] * 2)

        await stage.poll(feed)
        stage.later(hours=12)
        await stage.poll(feed)

        (newest, _) = await stage.services.store.decisions(feed.id, 2)
        assert newest.inputs.whole_documents

    play(story, schedule=BUDGET)
