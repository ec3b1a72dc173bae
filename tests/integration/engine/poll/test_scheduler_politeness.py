"""How hosts are treated: gaps, pauses, incidents, restarts and the end of a run (D24, D25)."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from msgspec.structs import replace
from tests.support.engine_harness import HASTY, PLAIN, Play, Stage
from tests.support.feed_documents import paper, said
from tests.support.waiting import hang_guard, wait_until

from feedmill.adapters.clock import SystemClock
from feedmill.config import HostConfig, RunConfig, ScheduleConfig
from feedmill.engine.poll.scheduler import run_forever, run_once
from feedmill.model.feed import Feed
from feedmill_demo.server.script import Answer, no_answer

_TOO_MANY = said(429, ("Retry-After", "600"))
_BUSY = said(503, ("Retry-After", "600"))


async def _feeds(stage: Stage, count: int, *answers: Answer, host: str = "127.0.0.1") -> list[Feed]:
    return [
        await stage.add(f"/{number}", *(answers or (paper(number),)), host=host)
        for number in range(count)
    ]


async def _failures(stage: Stage, feeds: Sequence[Feed]) -> list[int]:
    return [(await stage.feed(feed)).schedule.consecutive_failures for feed in feeds]


async def _is_free(stage: Stage) -> bool:
    """Whether the lanes of all feeds can be claimed by somebody else at once."""
    now = stage.clock.now() + timedelta(days=30)
    store = stage.services.store
    claims = await store.claim("another", now=now, lease_sec=1, max_lanes=99, max_feeds=9)
    lanes = (await stage.counts())["lanes"]
    return len(claims) == lanes and all(claim.lane.epoch == 2 for claim in claims)


def test_the_gap_is_counted_from_the_end_of_the_last_fetch(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _feeds(stage, 3, replace(paper(1), delay_sec=0.1))

        await stage.pass_once()

        at = [request.offset_sec for request in stage.publisher.requests]
        assert len(at) == 3
        assert min(later - sooner for sooner, later in pairwise(at)) >= 0.25

    play(story, clock=SystemClock(), host=HostConfig(rps=0, min_gap_ms=150))


def test_clock_set_forward_between_two_polls_keeps_the_gap_of_the_host(play: Play) -> None:
    gap_sec = 0.4

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        watch = stage.watch()
        running = asyncio.create_task(run_forever(stage.services, watch))
        await wait_until(lambda: len(stage.done) == 1, "the first poll")
        stage.later(days=30)
        await wait_until(lambda: len(stage.done) == 2, "the second poll")
        watch.stop()
        await running

        first, second = stage.publisher.requests[:2]
        assert second.offset_sec - first.offset_sec >= gap_sec
        assert len(await stage.fetches(feed)) == 2

    play(story, host=HostConfig(rps=0, min_gap_ms=int(gap_sec * 1000)))


def test_requests_per_second_make_a_gap_too(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await _feeds(stage, 3)

        await stage.pass_once()

        at = [request.offset_sec for request in stage.publisher.requests]
        assert at[2] - at[0] >= 0.2

    play(story, clock=SystemClock(), host=HostConfig(rps=10, min_gap_ms=0))


def test_a_lane_is_worked_back_to_back_on_one_connection(play: Play) -> None:
    """More feeds than one claim of the loop takes, in one pass, one request at a time."""

    async def story(stage: Stage) -> None:
        await _feeds(stage, 30)

        polled = await stage.pass_once()

        assert polled == 30
        assert stage.publisher.accepted == 1
        assert [request.target for request in stage.publisher.requests] == [
            f"/{number}" for number in range(30)
        ]

    play(story)


def test_a_pass_waits_for_gaps_but_not_for_pauses(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 2)
        await stage.pass_once()

        await stage.services.store.make_due([feed.id for feed in feeds], stage.clock.now())

        assert await stage.pass_once() == 2

    play(story, clock=SystemClock(), host=HostConfig(rps=0, min_gap_ms=100))


def test_a_pass_polls_each_feed_once_however_short_its_interval_is(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for path in ("/a", "/b"):
            await stage.add(path, paper(1), min_interval_sec=1, max_interval_sec=1)
        await stage.add("/c", paper(2), host="127.0.1.1", min_interval_sec=1, max_interval_sec=1)
        watch = stage.watch()

        def take_long(*_: object) -> None:
            stage.later(seconds=5)
            if len(stage.publisher.requests) >= 9:
                watch.stop()

        watch.listeners += (take_long,)
        await run_once(stage.services, watch)
        first = sorted(request.target for request in stage.publisher.requests)
        due_at = await stage.services.store.next_due_at()

        assert first == ["/a", "/b", "/c"]
        assert due_at is not None
        assert due_at <= stage.clock.now()
        assert await stage.pass_once() == 3

    play(story, addresses=1, schedule=ScheduleConfig(min_interval_sec=1))


def test_hosts_are_asked_side_by_side(play: Play) -> None:
    """One that never answers holds up its own feeds and nobody else's."""

    async def story(stage: Stage) -> None:
        await stage.add("/0", no_answer())
        others = ("127.0.1.1", "127.0.1.2", "127.0.1.3")
        for host in others:
            await _feeds(stage, 3, host=host)
        watch = stage.watch()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_forever(stage.services, watch))
            try:
                for number in (1, 2):
                    await stage.publisher.seen(f"/{number}", 3)
            finally:
                watch.stop()

        asked = [one.address for one in stage.publisher.requests if one.address in others]
        assert sorted(asked) == sorted(others * 3)

    play(story, addresses=3, run=replace(PLAIN.run, drain_sec=0.1))


def test_a_storm_of_429_costs_one_request_and_nobody_else(play: Play) -> None:
    async def story(stage: Stage) -> None:
        storm = await _feeds(stage, 100, _TOO_MANY)
        calm = await _feeds(stage, 5, host="127.0.1.1")

        polled = await stage.pass_once()

        assert polled == 1 + 5
        assert sorted(await _failures(stage, storm)) == [*[0] * 99, 1]
        for minutes in (1, 5, 3):
            stage.later(minutes=minutes)
            await stage.services.store.make_due(None, stage.clock.now())
            assert await stage.pass_once() == 5  # the calm ones
        for number in range(100):
            stage.publisher.script(f"/{number}", paper(number), host="127.0.0.1")
        stage.publisher.clear()
        stage.later(minutes=1)
        await stage.services.store.make_due([feed.id for feed in storm], stage.clock.now())
        await stage.pass_once()
        asked = [one.target for one in stage.publisher.requests if one.address == "127.0.0.1"]
        assert sorted(asked) == sorted(f"/{number}" for number in range(100))
        assert await _failures(stage, [*storm, *calm]) == [0] * 105

    play(story, addresses=1)


def test_a_429_without_a_date_is_a_pause_of_our_own(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 5, said(429))

        await stage.pass_once()
        stage.later(seconds=50)
        await stage.services.store.make_due([feed.id for feed in feeds], stage.clock.now())
        await stage.pass_once()

        assert len(stage.publisher.requests) == 1

    play(story)


def test_the_first_503_binds_its_url_and_the_second_the_host(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 5)
        stage.publish(feeds[1], _BUSY)

        await stage.pass_once()

        assert len(stage.publisher.requests) == 5
        stage.publisher.clear()
        stage.publish(feeds[2], _BUSY)
        stage.later(minutes=1)
        await stage.services.store.make_due([feed.id for feed in feeds], stage.clock.now())
        await stage.pass_once()
        assert [one.target for one in stage.publisher.requests] == ["/0", "/2"]
        stage.later(minutes=9)
        assert await stage.pass_once() == 0
        assert await _failures(stage, feeds) == [0, 1, 1, 0, 0]
        stage.later(minutes=2)
        stage.publish(feeds[1], paper(1))
        stage.publish(feeds[2], paper(2))
        await stage.pass_once()
        assert await _failures(stage, feeds) == [0] * 5

    play(story)


def test_a_url_in_its_pause_is_left_alone_even_when_it_is_asked_for(play: Play) -> None:
    """And the loop does not spin on it."""

    async def story(stage: Stage) -> None:
        feed, other = await _feeds(stage, 2)
        stage.publish(feed, _BUSY)
        await stage.pass_once()

        stage.later(minutes=5)
        await stage.services.store.make_due([feed.id, other.id], stage.clock.now())
        polled = await stage.pass_once()

        assert polled == 1
        assert len(stage.requests("/0")) == 1
        assert await stage.wait_until_due(feed) == timedelta(minutes=5)

    play(story)


def test_a_host_in_trouble_sends_one_canary_and_spares_its_feeds(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 10, said(500))

        await stage.pass_once()
        met = len(stage.publisher.requests)
        stage.later(seconds=40)
        await stage.pass_once()
        quiet = len(stage.publisher.requests)
        charged = sum(await _failures(stage, feeds))
        stage.later(seconds=21)
        await stage.pass_once()

        assert (met, quiet, len(stage.publisher.requests)) == (3, 3, 4)
        assert (charged, sum(await _failures(stage, feeds))) == (3, 3)
        for feed in feeds:
            stage.publish(feed, paper(int(feed.url.rpartition("/")[2])))
        stage.later(minutes=3)
        await stage.pass_once()
        assert len(await stage.entries()) >= 6
        stage.later(hours=2)
        await stage.pass_once()
        assert len(await stage.entries()) == 10
        assert await _failures(stage, feeds) == [0] * 10

    play(story, host=replace(HASTY, incident_after=3, incident_base_sec=60))


def test_where_a_host_has_one_feed_its_failures_are_the_feeds(play: Play) -> None:
    """Nothing is silently dead."""

    async def story(stage: Stage) -> None:
        (feed,) = await _feeds(stage, 1, said(500))

        for _ in range(10):
            stage.later(hours=3)
            await stage.poll(feed)

        after = await stage.feed(feed)
        assert (after.schedule.consecutive_failures, after.schedule.health) == (10, "suspect")
        told = [event.data["after"] for event in await stage.events("feed.state")]
        assert told == ["backing-off", "suspect"]

    play(story)


def test_what_was_put_off_is_due_as_before_and_not_charged(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 4, _TOO_MANY)
        before = [await stage.feed(feed) for feed in feeds]

        await stage.pass_once()

        after = [await stage.feed(feed) for feed in feeds]
        assert after[1:] == before[1:]
        assert await stage.fetches(feeds[1]) == []

    play(story)


def test_a_restart_forgets_no_pause_and_no_slow_down(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 3, _TOO_MANY)
        await stage.pass_once()

        for _ in range(3):
            await stage.reopen()
            stage.later(minutes=3)
            await stage.services.store.make_due([feed.id for feed in feeds], stage.clock.now())
            assert await stage.pass_once() == 0

        assert len(stage.publisher.requests) == 1
        stage.later(minutes=2)
        (claim,) = await stage.services.store.claim(
            "me", now=stage.clock.now(), lease_sec=9, max_lanes=9, max_feeds=9
        )
        pace = claim.lane.pace
        assert (pace.slow_down, pace.blocked_reason) == (2.0, "rate-limited")

    play(story)


def test_paused_feeds_are_never_asked_and_pushed_ones_are(play: Play) -> None:
    async def story(stage: Stage) -> None:
        paused, active = await _feeds(stage, 2)
        pushed = await stage.add("/pushed", paper(9), push_only=True)
        await stage.services.store.change_feed(replace(paused, paused=True))
        ids = [feed.id for feed in (paused, active, pushed)]

        await stage.services.store.make_due(ids, stage.clock.now())
        await stage.pass_once()

        assert sorted(one.target for one in stage.publisher.requests) == ["/1", "/pushed"]
        assert (await stage.counts())["paused"] == 1

    play(story)


async def _stopped_midway(stage: Stage, target: str) -> None:
    watch = stage.watch()
    async with hang_guard(), asyncio.TaskGroup() as group:
        group.create_task(run_forever(stage.services, watch))
        try:
            await stage.publisher.seen(target)
        finally:
            watch.stop()


def test_a_run_that_is_stopped_finishes_what_is_under_way_and_leaves_no_lease(play: Play) -> None:
    async def story(stage: Stage) -> None:
        first, second = await _feeds(stage, 2, replace(paper(1), delay_sec=0.2))

        await _stopped_midway(stage, "/0")

        assert len(await stage.entries(first)) == 1
        assert len(stage.publisher.requests) == 1
        assert (await stage.feed(second)).next_poll_at == second.next_poll_at
        assert await _is_free(stage)

    play(story)


def test_what_cannot_be_finished_in_time_is_given_up_and_not_asked_early(play: Play) -> None:
    async def story(stage: Stage) -> None:
        (feed,) = await _feeds(stage, 1, no_answer())

        await _stopped_midway(stage, "/0")

        assert await stage.fetches(feed) == []
        assert await stage.pass_once() == 0
        assert await stage.wait_until_due(feed) >= timedelta(seconds=900)
        assert await _is_free(stage)

    play(story, run=RunConfig(lease_sec=60, drain_sec=0.2))


def test_an_answer_that_breaks_us_costs_that_feed_its_run_and_nobody_else(play: Play) -> None:
    """A fault of our own is told; the lane goes on."""

    async def story(stage: Stage) -> None:
        feeds = await _feeds(stage, 3)
        inner = stage.services.fetcher.fetch

        async def broken(plan: object, **options: object) -> object:
            if getattr(plan, "url", "").endswith("/1"):
                message = "a fault of our own"
                raise RuntimeError(message)
            return await inner(plan, **options)  # type: ignore[arg-type]  # handed through

        stage.services.fetcher.fetch = broken  # type: ignore[method-assign,assignment]  # this once
        watch = stage.watch()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_forever(stage.services, watch))
            try:
                await stage.publisher.seen("/2")
            finally:
                watch.stop()

        assert [str(problem) for problem in stage.surprises] == ["a fault of our own"]
        assert len(await stage.entries(feeds[2])) == 1
        assert await stage.wait_until_due(feeds[1]) >= timedelta(seconds=900)
        assert await _is_free(stage)

    play(story)
