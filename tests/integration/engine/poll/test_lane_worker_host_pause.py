"""A pause that a host asked for binds everybody at once: other lanes, and who comes after a crash."""

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.engine_harness import HASTY, Play, Stage, opened
from tests.support.feed_documents import paper, said
from tests.support.waiting import hang_guard
from tests.support.warm_process import CHILDREN, start_script

from feedmill.adapters.clock import SystemClock
from feedmill.engine.poll.lane_worker import LaneWorker
from feedmill.model.feed import Claim, HostPace, Lane
from feedmill.model.refresh import Committed, Refresh
from feedmill.schedule.host_pace import initial_pace

_TOO_MANY = said(429, ("Retry-After", "600"))


async def test_a_retry_after_survives_a_kill_between_the_answer_and_its_commit(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, clock=SystemClock()) as stage:
        feed = await stage.add("/limited", _TOO_MANY)
        await stage.add("/calm", paper(1))
        await stage.close()

        script = CHILDREN / "killed_before_commit.py"
        doomed = await start_script(script, str(tmp_path), env=os.environ)
        async with hang_guard():
            ended = await doomed.wait()
        await stage.open()

        assert ended == -signal.SIGKILL
        assert len(stage.publisher.requests) == 1
        assert await stage.fetches(feed) == []  # nothing of the poll was committed
        pace = await stage.services.store.host_pace(feed.url)
        assert pace is not None
        assert pace.blocked_reason == "rate-limited"
        assert pace.next_ok_at is not None
        lease_over = stage.clock.now() + timedelta(seconds=stage.config.run.lease_sec + 1)
        assert pace.next_ok_at > lease_over + timedelta(seconds=400)
        claims = await stage.services.store.claim(
            "heir", now=lease_over, lease_sec=1, max_lanes=9, max_feeds=9
        )
        assert claims == ()


def test_a_pause_is_stored_before_the_poll_that_met_it_and_a_gap_is_not(play: Play) -> None:
    async def story(stage: Stage) -> None:
        order: list[str] = []
        store: Any = stage.services.store
        limit_host, commit = store.limit_host, store.commit

        async def limit(url: str, *rest: object) -> None:
            order.append(f"pause {url[-1]}")
            await limit_host(url, *rest)

        async def write(refresh: Refresh) -> Committed:
            order.append(f"poll {refresh.feed.url[-1]}")
            done: Committed = await commit(refresh)
            return done

        store.limit_host, store.commit = limit, write
        for number, answer in enumerate((paper(1), said(500), _TOO_MANY)):
            await stage.add(f"/{number}", answer)

        await stage.pass_once()

        assert order == ["poll 0", "poll 1", "pause 2", "poll 2"]

    play(story, host=HASTY)


def test_one_lane_of_a_big_host_stops_when_another_was_asked_for_patience(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{number}", paper(number)) for number in range(3)]
        store, now = stage.services.store, stage.clock.now()
        (claim,) = await store.claim("me", now=now, lease_sec=60, max_lanes=1, max_feeds=9)
        alone = Lane(id=claim.lane.id, key=f"{claim.lane.key}#1", epoch=1, pace=initial_pace(HASTY))
        work = LaneWorker(
            Claim(
                lane=alone, until=claim.until, feeds=claim.feeds, scheduled_at=claim.scheduled_at
            ),
            stage.services,
            stage.watch(),
            claimed_at=stage.clock.monotonic(),
        )
        until = now + timedelta(hours=1)
        await store.limit_host(feeds[0].url, until, "rate-limited")

        await work.run()

        assert stage.publisher.requests == ()
        assert await store.host_pace(feeds[0].url) == HostPace(
            gap_ms=0, next_ok_at=until, blocked_reason="rate-limited"
        )
        assert (await stage.feed(feeds[0])).next_poll_at <= now  # it waits with its lane

    play(story, host=HASTY)
