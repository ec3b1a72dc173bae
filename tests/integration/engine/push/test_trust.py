"""Trust in a hub is earned by pings and lost by one entry that a poll found first (D41)."""

from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace
from tests.support.engine_harness import Stage, titles
from tests.support.feed_documents import item, rss
from tests.support.push_harness import (
    announcing,
    callback,
    get,
    ping,
    play_push,
    publish_items,
    pushed_feed,
    run_push_jobs,
    subscription,
)

from feedmill.config import PushConfig
from feedmill.engine.jobs import websub
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.feed_health import describe_health
from feedmill.engine.service.hosts import feed_push, list_hubs, resubscribe
from feedmill.model.feed import Feed
from feedmill_demo.server.script import Answer, document

DAY = timedelta(days=1)


async def _earn_trust(stage: Stage, feed: Feed) -> None:
    found = await subscription(stage, feed)
    for number in (2, 3, 4):
        stage.later(minutes=1)
        await ping(stage, found, rss(item(number)))
    await publish_items(stage, feed, 1, 2, 3, 4)
    await stage.poll(feed)


def test_hub_that_pushes_is_trusted_and_the_poll_becomes_a_daily_safety_check(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        assert await stage.wait_until_due(feed) < DAY / 2
        await _earn_trust(stage, feed)

        assert await stage.wait_until_due(feed) == DAY
        assert len(await stage.entries(feed)) == 4
        found = await subscription(stage, feed)
        assert (found.by_push, found.by_poll, found.streak) == (3, 0, 3)
        told = await feed_push(await stage.feed(feed), stage.services)
        assert told.trusted
        assert "polled every 24 h as a safety check" in told.words
        decision = await stage.decision(feed)
        assert decision.steps[-1].code == "push-trusted"
        # A day of a feed that is pushed well: one request.
        before = len(stage.requests())
        stage.later(days=1)
        await stage.pass_once()
        assert len(stage.requests()) == before + 1

    play_push(tmp_path, store_url, story)


def test_one_entry_found_by_a_poll_ends_the_trust_and_restores_the_pace(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        await _earn_trust(stage, feed)

        stage.later(days=1)
        await publish_items(stage, feed, 1, 2, 3, 4, 5)  # the hub died
        await stage.pass_once()

        assert len(await stage.entries(feed)) == 5
        assert await stage.wait_until_due(feed) < DAY
        found = await subscription(stage, feed)
        assert (found.by_push, found.by_poll, found.streak) == (3, 1, 0)
        assert not (await feed_push(await stage.feed(feed), stage.services)).trusted

    play_push(tmp_path, store_url, story)


def test_miss_at_one_feed_brings_the_other_feeds_of_the_hub_back_to_their_pace(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        first, second = await pushed_feed(stage), await pushed_feed(stage, "/second")
        await _earn_trust(stage, first)
        await _earn_trust(stage, second)
        assert await stage.wait_until_due(second) > DAY / 2

        await publish_items(stage, first, 1, 2, 3, 4, 5)
        await stage.poll(first)
        await run_push_jobs(stage)

        assert await stage.wait_until_due(second) < DAY / 2
        stage.later(hours=6)
        await stage.pass_once()
        assert await stage.wait_until_due(second) < DAY  # the hub is in doubt
        (hub,) = (await list_hubs(stage.services)).items
        assert "brought 6 of 7 new entries first (86 %)" in hub.words

    play_push(tmp_path, store_url, story)


def test_hub_that_accepts_and_never_pushes_is_named_and_costs_nothing(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        stage.later(days=8)
        await publish_items(stage, feed, 1, 2)
        await stage.poll(feed)

        (hub,) = (await list_hubs(stage.services)).items
        assert "accepted 1 subscription 8 days ago and has never pushed" in hub.words
        assert "polls found 1 entries first" in hub.words
        assert await stage.wait_until_due(feed) < DAY
        assert len(await stage.entries(feed)) == 2

    play_push(tmp_path, store_url, story)


def test_push_only_is_polled_once_a_week_and_never_never(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(rss(item(1))), push_only=True)
        await stage.pass_once()

        assert await stage.wait_until_due(feed) == 7 * DAY
        stage.publish(feed, document(rss(item(1), item(2))))
        stage.later(days=7)
        assert await stage.pass_once() == 1
        assert len(await stage.entries(feed)) == 2
        stage.publish(feed, Answer(status=500))
        stage.later(days=7)
        await stage.pass_once()
        assert await stage.wait_until_due(feed) == 7 * DAY  # also after a failure
        health = await describe_health(await stage.feed(feed), stage.services)
        assert "Own setting: push only, so it is polled every 7 d." in health.words
        assert "No hub delivers, so new entries may be found as late as that." in health.words

    play_push(tmp_path, store_url, story)


def test_lease_that_ran_out_while_we_were_down_is_asked_for_again(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        await _earn_trust(stage, feed)
        stage.later(days=20)

        await publish_items(stage, feed, 1, 2, 3, 4, 5)
        await stage.pass_once()
        await run_push_jobs(stage)

        assert titles(await stage.entries(feed))[-1] == "Title 5"
        assert len([one for one in stage.requests("/hub") if one.method == "POST"]) == 2
        found = await subscription(stage, feed)
        assert found.by_poll == 0  # it had no lease: that was not the hub's fault

    play_push(tmp_path, store_url, story)


def test_entries_that_pings_brought_teach_the_schedule_when_they_came_out(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        known = feed.schedule.arrivals
        assert known is not None
        came = []
        for number in (2, 3):
            stage.later(hours=1)
            came.append(stage.clock.now().timestamp())
            await ping(stage, found, rss(item(number)))
        stage.later(hours=1)
        await publish_items(stage, feed, 1, 2, 3)
        after = await stage.poll(feed)
        again = await stage.poll(feed)

        learnt = after.schedule.arrivals
        assert learnt is not None
        assert (learnt.events - known.events, learnt.last) == (2, came[-1])
        assert (await stage.services.store.arrival_times(feed.id))[-2:] == tuple(came)
        assert again.schedule.arrivals == learnt  # once

    play_push(tmp_path, store_url, story)


def test_hub_that_is_announced_again_after_another_one_or_none_is_asked_again(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        first = await subscription(stage, feed)
        stage.publisher.script("/other", Answer(status=202), host="127.0.0.1")
        other = stage.publisher.url("/other", host="127.0.0.1")

        async def announce(hub: str | None, **later: float) -> list[str]:
            """Publish, poll and run jobs: the hubs that were asked since the beginning."""
            stage.publish(feed, announcing(item(1), hub=hub, topic=first.topic))
            for span in ({}, later):
                stage.later(**span)
                await stage.poll(feed)  # a job waits for the due feeds of its host
                await run_push_jobs(stage)
            posts = [*stage.requests("/hub"), *stage.requests("/other")]
            return sorted(one.target for one in posts if one.method == "POST")

        assert await announce(other) == ["/hub", "/other"]
        assert await announce(first.hub) == ["/hub", "/hub", "/other"]
        assert await announce(None, days=9) == ["/hub", "/hub", "/other"]
        assert await announce(first.hub) == ["/hub", "/hub", "/hub", "/other"]

    play_push(tmp_path, store_url, story)


def test_hub_that_only_the_site_announces_is_kept_and_its_lease_renewed(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/hub", Answer(status=202), host="127.0.0.1")
        hub = stage.publisher.url("/hub", host="127.0.0.1")
        site = stage.publisher.url("/site", host="127.0.0.1")
        page = f'<html><head><link rel="hub" href="{hub}">'.encode()
        stage.publisher.script("/site", document(page, "text/html"), host="127.0.0.1")
        body = rss(item(1)).replace(b"https://paper.example/<", f"{site}<".encode())
        feed = await stage.add("/feed", document(body))
        await stage.poll(feed)
        await resubscribe(await stage.feed(feed), stage.services)
        await run_push_jobs(stage)
        found = await subscription(stage, feed)
        asked = {"hub__topic": found.topic, "hub__challenge": "echo"}
        await get(callback(stage, found), hub__mode="subscribe", **asked)

        for days in (1, 8):
            stage.later(days=days)
            stage.publish(feed, document(body + b"<!-- new -->" * days))
            await stage.poll(feed)
            await run_push_jobs(stage)

        assert (await subscription(stage, feed)).state == "active"
        assert len([one for one in stage.requests("/hub") if one.method == "POST"]) == 2

    play_push(tmp_path, store_url, story)


def test_subscription_is_renewed_after_its_job_ran_in_a_process_without_push(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        without = replace(stage.config, push=PushConfig())
        stage.later(days=8)
        await stage.poll(feed)

        await run_due_jobs(
            stage.services._replace(config=without), Lifecycle("two"), kinds=websub.KINDS
        )
        stage.later(days=1)
        await stage.poll(feed)
        await run_push_jobs(stage)

        assert len([one for one in stage.requests("/hub") if one.method == "POST"]) == 2

    play_push(tmp_path, store_url, story)
