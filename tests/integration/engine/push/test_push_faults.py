"""Hubs that misbehave: no entry is lost or doubled, and no host is asked more often than its pace."""

import asyncio
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine_harness import Stage, titles
from tests.support.feed_documents import item, rss
from tests.support.push_harness import (
    announcing,
    ping,
    play_push,
    publish_items,
    pushed_feed,
    run_push_jobs,
    subscription,
)

from feedmill.engine.service.hosts import feed_push, list_hubs
from feedmill.interfaces.push_listener import PushListener
from feedmill_demo.server.script import Answer


def test_hub_that_never_verifies_is_given_up_and_asked_again_a_day_later(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/hub", Answer(status=202), host="127.0.0.1")
        hub, topic = (stage.publisher.url(one, host="127.0.0.1") for one in ("/hub", "/feed"))
        feed = await stage.add("/feed", announcing(item(1), hub=hub, topic=topic))
        await stage.poll(feed)
        await run_push_jobs(stage)
        assert (await subscription(stage, feed)).state == "asked"

        stage.later(minutes=16)
        await stage.pass_once()
        await run_push_jobs(stage)
        assert (await subscription(stage, feed)).state == "unverified"
        told = await feed_push(await stage.feed(feed), stage.services)
        assert "accepted the request and never verified" in told.words
        assert len(stage.requests("/hub")) == 1

        stage.later(days=1)
        await stage.pass_once()
        await run_push_jobs(stage)
        assert len(stage.requests("/hub")) == 2

    play_push(tmp_path, store_url, story)


@pytest.mark.parametrize("status", [500, 503])
def test_hub_that_fails_is_tried_three_times_with_growing_waits(
    tmp_path: Path, store_url: str | None, status: int
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/hub", Answer(status=status), host="127.0.0.1")
        hub, topic = (stage.publisher.url(one, host="127.0.0.1") for one in ("/hub", "/feed"))
        feed = await stage.add("/feed", announcing(item(1), hub=hub, topic=topic))
        await stage.poll(feed)
        for _ in range(6):
            await run_push_jobs(stage)
            stage.later(minutes=11)
            await stage.pass_once()

        assert len(stage.requests("/hub")) == 3
        found = await subscription(stage, feed)
        assert (found.state, found.last_error) == (
            "failed",
            f"the hub does not answer (http-{status})",
        )

    play_push(tmp_path, store_url, story)


def test_rubbish_is_kept_raw_and_only_brings_the_poll_forward(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)

        answer = await ping(stage, found, b"<html>not a feed</html>")

        assert answer.status_code == 202
        assert titles(await stage.entries(feed)) == ["Title 1"]
        assert await stage.wait_until_due(feed) < timedelta(seconds=1)
        last = (await stage.fetches(feed))[-1]
        assert last.outcome == "html-page"
        assert await stage.services.store.blob(last.body_sha256 or "") is not None
        assert (await stage.feed(feed)).schedule.health == "active"

    play_push(tmp_path, store_url, story)


def test_thin_ping_brings_the_poll_forward_within_the_pace_of_the_host(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        await publish_items(stage, feed, 1, 2)
        before = len(stage.requests())

        for _ in range(20):
            assert (await ping(stage, found, b"")).status_code == 202
            await stage.pass_once()

        assert len(stage.requests()) == before  # the last poll is not a minute ago
        stage.later(minutes=1)
        await stage.pass_once()
        assert len(stage.requests()) == before + 1
        assert len(await stage.entries(feed)) == 2

    play_push(tmp_path, store_url, story, push={"hint_gap_sec": 60.0})


def test_ping_sent_twice_and_replayed_later_stores_its_entry_once(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        first, second = rss(item(2)), rss(item(3))

        await asyncio.gather(ping(stage, found, first), ping(stage, found, first))
        stage.later(minutes=1)
        await ping(stage, found, second)
        stage.later(minutes=1)
        await ping(stage, found, first)
        await publish_items(stage, feed, 1, 2, 3)
        await stage.poll(feed)

        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2", "Title 3"]
        assert len(await stage.events("new_entry")) == 3

    play_push(tmp_path, store_url, story)


@pytest.mark.parametrize("how", ["link", "self"])
def test_ping_of_another_topic_stores_nothing(
    tmp_path: Path, store_url: str | None, how: str
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        other = "https://other.example/feed"
        if how == "link":
            await ping(stage, found, rss(item(9)), topic=other)
        else:
            body = announcing(item(9), hub=None, topic=other).body
            await ping(stage, found, body, topic=None)

        assert titles(await stage.entries(feed)) == ["Title 1"]

    play_push(tmp_path, store_url, story)


def test_many_pings_of_a_stranger_are_refused_before_the_store_is_asked(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        looked_up: list[str] = []
        store = stage.services.store
        plain = store.push_subscription

        async def counted(token: str) -> object:
            looked_up.append(token)
            return await plain(token)

        store.push_subscription = counted  # type: ignore[method-assign, assignment]
        before = len(stage.requests())
        listener, codes = PushListener(stage.services), list[int]()

        async def send(message: dict[str, Any]) -> None:
            if "status" in message:
                codes.append(message["status"])

        for number in range(2_000):
            scope = {"method": "POST", "path": f"/push/{number:043}", "headers": []}
            await listener(scope, _nothing, send)
        own = await ping(stage, found, rss(item(2)))

        assert set(codes) == {404, 429}
        assert len(looked_up) < 1_000
        assert own.status_code == 202  # a known subscription is not slowed down
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
        assert len(stage.requests()) == before

    play_push(tmp_path, store_url, story)


def test_request_to_an_unknown_callback_is_answered_without_its_body(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        listener, codes = PushListener(stage.services), list[int]()

        async def read() -> dict[str, Any]:
            pytest.fail("the body was read")

        async def send(message: dict[str, Any]) -> None:
            if "status" in message:
                codes.append(message["status"])

        for method in ("POST", "PUT"):  # any answer but 404 made the token a known one
            for number in range(60):
                path, headers = f"/push/{number % 2:043}", list[tuple[bytes, bytes]]()
                await listener({"method": method, "path": path, "headers": headers}, read, send)

        assert set(codes) == {404, 429}

    play_push(tmp_path, store_url, story)


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"x"}


def test_body_beyond_the_limit_and_pings_beyond_the_rate_are_refused(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)

        large = await ping(stage, found, b"x" * 5_000)
        codes = [(await ping(stage, found, b"")).status_code for _ in range(6)]

        assert large.status_code == 413
        assert 429 in codes

    play_push(tmp_path, store_url, story, push={"body_bytes": 4_000, "pings_per_sec": 0.5})


def test_hub_on_a_private_address_is_not_asked(tmp_path: Path, store_url: str | None) -> None:
    async def story(stage: Stage) -> None:
        topic = stage.publisher.url("/feed", host="127.0.0.1")
        page = announcing(item(1), hub="http://10.1.2.3/hub", topic=topic)
        feed = await stage.add("/feed", page)
        await stage.poll(feed)
        for _ in range(4):
            await run_push_jobs(stage)
            stage.later(hours=1)
            await stage.pass_once()

        found = await subscription(stage, feed)
        assert (found.state, found.last_error) == (
            "failed", "the hub does not answer (private-address)",
        )  # fmt: skip

    play_push(tmp_path, store_url, story)


def test_secret_and_token_are_in_no_log_and_no_answer(
    tmp_path: Path,
    store_url: str | None,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def story(stage: Stage) -> None:
        caplog.set_level(logging.DEBUG)
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        await ping(stage, found, rss(item(2)))
        await ping(stage, found, b"rubbish")

        shown = f"{await feed_push(await stage.feed(feed), stage.services)} {found!r}"
        # The client of this test logs as well.
        shown += "".join(
            one.getMessage() for one in caplog.records if not one.name.startswith("http")
        )
        shown += "".join(capfd.readouterr())
        fetches = str(await stage.fetches(feed))
        assert found.secret not in shown + fetches
        assert found.token not in shown + fetches

    play_push(tmp_path, store_url, story)


def test_without_a_public_address_no_hub_is_asked_and_it_is_said(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        hub = stage.publisher.url("/hub", host="127.0.0.1")
        topic = stage.publisher.url("/feed", host="127.0.0.1")
        feed = await stage.add("/feed", announcing(item(1), hub=hub, topic=topic))
        await stage.poll(feed)
        await run_push_jobs(stage)

        assert await stage.services.store.push_subscriptions() == ()
        told = await feed_push(await stage.feed(feed), stage.services)
        assert "public_url is not set" in told.words

    play_push(tmp_path, store_url, story, push={"public_url": None})


def test_delay_between_ping_and_entry_is_that_of_one_request(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        feed = await pushed_feed(stage)
        found = await subscription(stage, feed)
        await ping(stage, found, rss(item(2)))

        # The answer to the ping comes after the commit: no poll, no wait.
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
        entry = (await stage.entries(feed))[-1]
        assert entry.first_seen - stage.clock.now() == timedelta(0)

    play_push(tmp_path, store_url, story)


def test_tokens_in_the_addresses_of_hub_and_topic_are_masked(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/hub", Answer(status=202), host="127.0.0.1")
        hub, topic = (
            stage.publisher.url(one, host="127.0.0.1") + "?token=t0ken" for one in ("/hub", "/feed")
        )
        feed = await stage.add("/feed", announcing(item(1), hub=hub, topic=topic))
        await stage.poll(feed)
        await run_push_jobs(stage)

        shown = await feed_push(await stage.feed(feed), stage.services)
        hubs = await list_hubs(stage.services)

        assert (await subscription(stage, feed)).topic == topic
        assert shown.subscriptions[0].topic.endswith("/feed?token=***")
        assert shown.subscriptions[0].hub == shown.hubs[0] == hubs.items[0].hub
        assert "t0ken" not in f"{shown} {hubs}"

    play_push(tmp_path, store_url, story)
