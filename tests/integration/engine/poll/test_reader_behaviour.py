"""What publishers complain about in feed readers, over a simulated week against a logging server.

One unconditional request ever, no request before its time, validators byte for byte, 429 and Retry-After
obeyed on all paths, no burst at the start, restarts included.
"""

from datetime import timedelta

from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper, said

from feedmill.config import HostConfig, ScheduleConfig
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.model.feed import Feed
from feedmill_demo.server.script import Request

_WEEK = timedelta(days=7)
_CONDITIONS = ("if-none-match", "if-modified-since")


def _conditions(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers if name.lower() in _CONDITIONS}


async def _subscribed(stage: Stage, target: str) -> Feed:
    done = await open_subscriber(stage.services).subscribe(stage.publisher.url(target))
    assert isinstance(done, Subscribed)
    return done.feed


def test_a_week_of_polls_is_what_publishers_ask_for(play: Play) -> None:
    async def story(stage: Stage) -> None:
        etag, date = 'W/"a b\\"c"', "Mon, 13 Oct 2025 08:00:00 GMT"
        stage.publisher.script("/feed", paper(1, 2, 3, etag=etag, last_modified=date))
        feed = await _subscribed(stage, "/feed")
        began, polls = stage.clock.now(), 0

        while stage.clock.now() < began + _WEEK:
            due = (await stage.feed(feed)).next_poll_at
            # A minute before its time nothing is asked, also right after a restart.
            stage.later(seconds=(due - stage.clock.now()).total_seconds() - 60)
            if polls % 3 == 0:
                await stage.close()
                await stage.open()
            asked = len(stage.requests())
            await stage.pass_once()
            assert len(stage.requests()) == asked
            stage.later(seconds=60)
            await stage.pass_once()
            assert len(stage.requests()) == asked + 1
            polls += 1

        first, *rest = stage.requests()
        assert _conditions(first) == {}
        assert polls == len(rest) > 5
        expected = {"if-none-match": etag, "if-modified-since": date}
        assert all(_conditions(one) == expected for one in rest)
        assert all(one.outcome == "unchanged" for one in (await stage.fetches(feed))[1:])

    play(story, schedule=ScheduleConfig())


def test_a_retry_after_is_obeyed_by_polls_restarts_refetches_and_subscriptions(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(429, ("Retry-After", "5400")), paper(1))
        await stage.pass_once()
        until = stage.clock.now() + timedelta(seconds=5400)

        await stage.close()
        await stage.open()
        await stage.services.store.make_due([feed.id], stage.clock.now())
        await stage.pass_once()
        stage.later(seconds=5300)
        await stage.pass_once()

        assert len(stage.requests()) == 1
        other = await stage.add("/other", paper(2))  # of the same host
        await stage.pass_once()
        assert stage.requests("/other") == ()
        stage.later(seconds=(until - stage.clock.now()).total_seconds() + 1)
        await stage.pass_once()
        assert len(stage.requests()) == 2
        assert await stage.outcome(other) == "fresh"

    play(story, schedule=ScheduleConfig())


def test_many_feeds_of_one_host_are_not_asked_in_a_burst_at_the_start(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for number in range(6):
            await stage.add(f"/{number}", paper(number))

        await stage.pass_once()

        at = [stage.requests(f"/{number}")[0].offset_sec for number in range(6)]
        gaps = [later - earlier for earlier, later in zip(sorted(at), sorted(at)[1:], strict=False)]
        assert len(gaps) == 5
        assert min(gaps) >= 0.02

    play(story, schedule=ScheduleConfig(), host=HostConfig(rps=0, min_gap_ms=20))
