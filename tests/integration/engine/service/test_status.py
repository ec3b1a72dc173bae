"""The whole engine on one screen, and what it advises."""

from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper, said

from feedmill.engine.service.status import needs_attention, status
from feedmill.model.running.worker import Worker


def test_an_empty_home_is_told_to_subscribe(play: Play) -> None:
    async def story(stage: Stage) -> None:
        found = await status(stage.services)

        assert found.feeds.feeds == 0
        assert found.advice == ("Subscribe to a feed: feedmill add URL",)

    play(story)


def test_recent_polls_failures_and_sizes_are_shown(play: Play) -> None:
    async def story(stage: Stage) -> None:
        good = await stage.add("/good", paper(1))
        await stage.add("/bad", said(500))
        await stage.poll(good)  # and the other, which is due as well

        found = await status(stage.services)

        assert (found.feeds.active, found.feeds.backing_off) == (1, 1)
        assert (found.recent.polls, found.recent.failed_host) == (2, 1)
        assert [(one.outcome, one.status, one.fault) for one in found.failures] == [
            ("server-error", 500, "host")
        ]
        assert found.sizes.database_bytes > 0
        assert found.sizes.raw_documents == 1
        assert {one.name for one in found.levels} == {
            "fetch-latency", "failed-fetches", "scheduler-freshness",
        }  # fmt: skip
        assert found.advice == ("Nothing needs attention",)

    play(story)


def test_due_feeds_ask_for_a_process_that_polls_unless_one_is_alive(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await stage.poll(await stage.add("/polled", paper(1)))
        await stage.add("/feed", paper(1))
        words = "1 feed is due, and no process polls now: feedmill sync polls once, feedmill run until it is stopped"

        alone, attention = await status(stage.services), await needs_attention(stage.services)
        now = stage.clock.now()
        runs = Worker(name="run:1", role="run", version="1", started_at=now, seen_at=now)
        await stage.services.store.save_worker(runs)
        beside, quiet = await status(stage.services), await needs_attention(stage.services)
        stage.later(minutes=16)
        await stage.services.store.save_worker(replace(runs, seen_at=stage.clock.now()))
        (late,) = await needs_attention(stage.services)

        assert alone.advice == (words,)
        assert [one.subject for one in attention] == ["Nothing polls:"]
        assert beside.advice == ("Nothing needs attention",)
        assert quiet == ()
        assert late.subject == "Polling is late:"

    play(story)


def test_late_feeds_without_polls_ask_for_a_scheduler(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await stage.add("/feed", paper(1))
        stage.later(hours=5)

        found = await status(stage.services)

        assert (found.feeds.due, found.feeds.late) == (1, 1)
        assert "feedmill run" in found.advice[0]

    play(story)


def test_a_host_that_rests_is_named_with_its_reason(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(429, ("Retry-After", "7200")))
        await stage.poll(feed)

        found = await status(stage.services)

        (host,) = found.resting_hosts
        assert (host.reason, host.feeds) == ("rate-limited", 1)
        assert host.host == f"127.0.0.1:{stage.publisher.port}"
        words = (
            f"{host.host}: pauses (rate-limited) since 2025-10-14 12:00:01 UTC; left alone until"
        )
        assert any(one.startswith(words) for one in found.advice)

    play(story)


def test_failures_of_our_own_come_with_advice(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(406))
        await stage.poll(feed)

        found = await status(stage.services)

        assert found.failures[0].fault == "ours"
        assert any("feedmill top --by ours" in one for one in found.advice)
        assert any("A service level is missed" in one for one in found.advice)

    play(story)
