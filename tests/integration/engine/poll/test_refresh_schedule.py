"""What a poll teaches the schedule: the pace of a feed, learnt from its documents or from what is stored."""

from datetime import timedelta

import msgspec
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Play, Stage
from tests.support.feed_documents import paper, rss, said

from feedmill.config import ScheduleConfig
from feedmill.schedule.decide import config_of, decide_again
from feedmill_demo.server.script import Answer, Request, document

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


def test_a_document_that_is_cut_before_its_first_entry_is_a_failure(play: Play) -> None:
    async def story(stage: Stage) -> None:
        cut = rss(extra="<description>Hello", end="")
        feed = await stage.add("/feed", paper(1), document(cut), paper(1, 2))
        good = await stage.poll(feed)
        stage.later(hours=1)

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "truncated"
        assert after.last_success_at == good.last_success_at
        assert after.schedule.consecutive_failures == 1
        assert (await stage.poll(feed)).new_entries_last_fetch == 1

    play(story)


def test_a_server_that_answers_304_to_the_date_alone_is_found_out_and_remembered(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        date = "Mon, 13 Oct 2025 08:00:00 GMT"

        def answer(request: Request) -> Answer:
            names = {name.lower() for name, _ in request.headers}
            if "if-modified-since" in names and "if-none-match" not in names:
                return said(304, ("Last-Modified", date))
            # As behind two machines: the ETag is another one for each answer.
            return paper(1, etag=f'"{len(stage.requests())}"', last_modified=date)

        feed = await stage.add("/feed", answer)

        after = await stage.poll(feed, times=9)
        last = await stage.poll(feed, times=2)

        assert await stage.outcome(feed) == "unchanged"
        assert after.validator_use == last.validator_use == "date"
        assert last.same_bodies == 0
        assert last.validators is not None
        assert last.validators.etag is not None
        assert [one.outcome for one in (await stage.fetches(feed))[-4:]] == ["unchanged"] * 4

    play(story)


def test_a_type_that_is_not_allowed_is_refused_by_name(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "content-type"
        assert "is not among [fetch] content_types: application/atom+xml" in after.last_detail

    play(story, fetch=replace(PLAIN.fetch, content_types=("application/atom+xml",)))


def test_a_host_that_is_not_listed_is_never_asked(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "host-not-listed"
        assert "127.0.0.1 is not among" in after.last_detail
        assert stage.requests() == ()

    play(story, fetch=replace(PLAIN.fetch, only_hosts=("example.com",)))


def test_the_recorded_request_begins_with_the_version_and_the_host(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)

        (fetch,) = await stage.fetches(feed)

        host = feed.url.split("/")[2]
        assert fetch.request_headers[:2] == ((":version", "HTTP/1.1"), ("Host", host))

    play(story)
