"""Our hub against a subscriber of another implementation (flask_websub), by the list of websub.rocks.

The numbers are those of https://websub.rocks/hub.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.engine_harness import Stage, opened, titles
from tests.support.feed_documents import paper
from tests.support.job_kinds import run_due
from tests.support.push_harness import push_mill, run_push_jobs, subscription
from tests.support.waiting import HANG_GUARD_SEC, wait_for_answer
from tests.support.websub_peers import peer_subscriber, raw_subscriber

from feedmill.config import PushConfig, WebhookConfig
from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.jobs import websub
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service import metafeeds, webhooks
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.running.webhook import Webhook
from feedmill.push.hub import SIGNATURE, is_signed

HUB_ON = PushConfig(hub=True)
HubStory = Callable[[Stage, str], Awaitable[None]]


@asynccontextmanager
async def hub_mill(
    home: Path, store_url: str | None, **parts: Any
) -> AsyncIterator[tuple[Stage, str]]:
    """A mill with one feed of one entry, that is the hub of its metafeeds; its address."""
    async with opened(home, store_url=store_url, **{"push": HUB_ON, **parts}) as stage:
        feed = await stage.add("/feed", paper(1), paper(1, 2), paper(1, 2, 3))
        await stage.poll(feed)
        watch = Lifecycle("server")
        async with rest_server(stage.services, watch, port=0) as base:
            yield stage, base


def play(home: Path, store_url: str | None, story: HubStory, **parts: Any) -> None:
    async def told() -> None:
        async with hub_mill(home, store_url, **parts) as (stage, base):
            await story(stage, base)

    asyncio.run(told())


async def ask(base: str, callback: str, topic: str, **more: str) -> httpx.Response:
    """A request to the hub as any subscriber sends it."""
    form = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback} | {
        name.replace("__", "."): value for name, value in more.items()
    }
    async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
        return await client.post(f"{base}/hub", data=form)


async def verified(stage: Stage) -> None:
    await run_due(stage.services, websub.KIND)


async def publish(stage: Stage) -> None:
    """Let the feed have a new entry, and deliver what that means."""
    (feed,) = (await stage.services.store.feeds()).items
    await stage.poll(feed)
    # On PostgreSQL another reader of the log may be giving the events their numbers just now.
    stored = (await stage.counts())["entries"]
    await wait_for_answer(
        lambda: stage.events("new_entry"), lambda found: len(found) == stored, "numbered events"
    )
    await deliver_once(stage.services, Lifecycle("relay"))


async def subscribers(stage: Stage) -> tuple[Webhook, ...]:
    return await stage.services.store.webhooks()


def test_100_subscriber_gets_the_whole_topic_after_a_change(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_subscriber(tmp_path / "peer") as peer:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
                page = await client.get(topic)
            hub = page.links["hub"]["url"]
            assert (hub, page.links["self"]["url"]) == (f"{base}/hub", topic)

            await asyncio.to_thread(peer.subscribe, topic, hub)
            await verified(stage)
            await publish(stage)

            ((got, body),) = peer.got
            assert got == topic
            assert b"Title 1" in body
            assert b"Title 2" in body

        play(tmp_path, store_url, story)


def test_101_delivery_is_signed_when_a_secret_was_given_and_only_then(
    tmp_path: Path, store_url: str | None
) -> None:
    with raw_subscriber() as signed, raw_subscriber() as plain:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            await ask(base, signed.url, topic, hub__secret="geheim")
            await ask(base, plain.url, topic)
            await verified(stage)
            await publish(stage)

            ((headers, body),) = signed.got
            assert is_signed(headers[SIGNATURE], body, "geheim")
            assert headers["Content-Type"] == "application/atom+xml; charset=utf-8"
            assert f'<{base}/hub>; rel="hub"' in headers["Link"]
            assert f'<{topic}>; rel="self"' in headers["Link"]
            ((headers, _),) = plain.got
            assert SIGNATURE not in headers

        play(tmp_path, store_url, story)


def test_102_unknown_parameters_are_ignored_and_the_callback_keeps_its_query(
    tmp_path: Path, store_url: str | None
) -> None:
    with raw_subscriber() as peer:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            answer = await ask(base, peer.url, topic, hub__foo="bar", foo="bar")
            await verified(stage)

            assert answer.status_code == 202
            (challenge,) = peer.challenges
            assert (challenge["own"], challenge["hub.topic"]) == ("1", topic)
            assert challenge["hub.lease_seconds"] == "864000"
            assert len(await subscribers(stage)) == 1

        play(tmp_path, store_url, story)


def test_103_subscribing_again_renews_the_lease_and_the_secret(
    tmp_path: Path, store_url: str | None
) -> None:
    with raw_subscriber() as peer:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            await ask(base, peer.url, topic, hub__secret="old", hub__lease_seconds="600")
            await verified(stage)
            stage.later(minutes=5)
            await ask(base, peer.url, topic, hub__secret="new", hub__lease_seconds="600")
            await verified(stage)
            stage.later(minutes=6)  # the first lease is over
            await publish(stage)

            (found,) = await subscribers(stage)
            assert found.topic == topic
            ((headers, body),) = peer.got
            assert is_signed(headers[SIGNATURE], body, "new")

        play(tmp_path, store_url, story)


def test_104_unsubscription_is_verified_and_ends_deliveries(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_subscriber(tmp_path / "peer") as peer:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            callback = await asyncio.to_thread(peer.subscribe, topic, f"{base}/hub")
            await verified(stage)
            await asyncio.to_thread(peer.unsubscribe, callback)
            await verified(stage)
            await publish(stage)

            assert peer.got == []
            assert await subscribers(stage) == ()

        play(tmp_path, store_url, story)


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        pytest.param("rss", "application/rss+xml; charset=utf-8", id="105-text"),
        pytest.param("json", "application/feed+json", id="106-json"),
    ],
)
def test_105_106_content_has_the_type_of_its_topic(
    tmp_path: Path, store_url: str | None, kind: str, content_type: str
) -> None:
    with raw_subscriber() as peer:

        async def story(stage: Stage, base: str) -> None:
            (feed,) = (await stage.services.store.feeds()).items
            topic = f"{base}/feeds/{feed.id}/feed.{kind}"
            await ask(base, peer.url, topic)
            await verified(stage)
            await publish(stage)

            ((headers, body),) = peer.got
            assert headers["Content-Type"] == content_type
            assert b"Title 2" in body
            async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
                assert (await client.get(topic)).content == body

        play(tmp_path, store_url, story)


async def test_our_hub_pushes_to_our_subscriber(tmp_path: Path, store_url: str | None) -> None:
    async with (
        hub_mill(tmp_path / "hub", store_url) as (hub, base),
        push_mill(tmp_path / "reader") as reader,
    ):
        topic = f"{base}/collections/feed.atom"
        feed = (await subscribe_unchecked(topic, reader.services)).feed
        await reader.poll(feed)
        await run_push_jobs(reader)
        await verified(hub)
        assert (await subscription(reader, feed)).state == "active"

        reader.later(minutes=5)
        await publish(hub)

        assert titles(await reader.entries(feed)) == ["Title 1", "Title 2"]
        found = await subscription(reader, feed)
        assert (found.by_push, found.pushes) == (1, 1)


def test_lease_that_is_not_renewed_ends_the_subscription(
    tmp_path: Path, store_url: str | None
) -> None:
    with raw_subscriber() as peer:

        async def story(stage: Stage, base: str) -> None:
            await ask(base, peer.url, f"{base}/collections/feed.atom", hub__lease_seconds="600")
            await verified(stage)
            stage.later(minutes=11)
            await publish(stage)

            assert peer.got == []
            assert await subscribers(stage) == ()

        play(tmp_path, store_url, story)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({"echo": False}, id="other words"),
        pytest.param({"redirect": True}, id="a redirect to an echo (WebSub 5.3)"),
    ],
)
def test_subscriber_that_does_not_confirm_is_not_subscribed(
    tmp_path: Path, store_url: str | None, answers: dict[str, bool]
) -> None:
    with raw_subscriber(**answers) as peer:

        async def story(stage: Stage, base: str) -> None:
            await ask(base, peer.url, f"{base}/collections/feed.atom")
            await verified(stage)

            assert len(peer.challenges) == 1
            assert await subscribers(stage) == ()

        play(tmp_path, store_url, story)


def test_delivery_that_fails_for_good_is_a_dead_letter(
    tmp_path: Path, store_url: str | None
) -> None:
    with raw_subscriber(status=500) as peer:

        async def story(stage: Stage, base: str) -> None:
            await ask(base, peer.url, f"{base}/collections/feed.atom")
            await verified(stage)
            await publish(stage)

            (found,) = await subscribers(stage)
            (letter,) = (await stage.services.store.dead_letters(found.id)).items
            assert letter.reason == "server-error"

        play(tmp_path, store_url, story, webhook=WebhookConfig(max_attempts=1))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"hub.callback": "http://10.0.0.1/cb"}, "bad-address", id="private callback"),
        pytest.param({"hub.topic": "https://other.example/feed"}, "not-found", id="not our topic"),
        pytest.param(
            {"hub.topic": "BASE/feeds/gone/feed.atom"}, "not-found", id="feed that is not there"
        ),
        pytest.param({"hub.mode": "publish"}, "invalid-body", id="mode"),
    ],
)
def test_request_that_is_not_taken_says_why(
    tmp_path: Path, store_url: str | None, change: dict[str, str], problem: str
) -> None:
    async def story(stage: Stage, base: str) -> None:
        form = {
            "hub.mode": "subscribe",
            "hub.topic": f"{base}/collections/feed.atom",
            "hub.callback": "http://127.0.0.1:9/cb",
        } | {name: value.replace("BASE", base) for name, value in change.items()}
        async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
            answer = await client.post(f"{base}/hub", data=form)
            wrong_type = await client.post(f"{base}/hub", json={})

        assert answer.json()["type"].endswith(problem)
        assert wrong_type.status_code == 415
        assert await stage.services.store.job_counts() == ()

    play(tmp_path, store_url, story)


def test_hub_has_a_limit_of_subscribers_that_renewals_and_ends_pass(
    tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metafeeds, "MAX_WEBHOOKS", 2)
    with raw_subscriber() as peer, raw_subscriber() as second, raw_subscriber() as third:

        async def story(stage: Stage, base: str) -> None:
            topic = f"{base}/collections/feed.atom"
            await ask(base, peer.url, topic)
            await verified(stage)
            waiting = await ask(base, second.url, topic)
            refused = await ask(base, third.url, topic)
            await verified(stage)
            full = await ask(base, third.url, topic)
            renewed = await ask(base, peer.url, topic)
            ended = await ask(base, second.url, topic, hub__mode="unsubscribe")
            await verified(stage)
            after = await ask(base, third.url, topic)

            assert [one.status_code for one in (waiting, renewed, ended, after)] == [202] * 4
            assert [(one.status_code, one.json()["type"]) for one in (refused, full)] == [
                (429, "/problems/rate-limited")
            ] * 2
            assert [one.url for one in await subscribers(stage)] == [peer.url]

        play(tmp_path, store_url, story)


def test_subscribers_take_no_place_of_a_webhook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    with raw_subscriber() as peer:

        async def story(stage: Stage, base: str) -> None:
            await ask(base, peer.url, f"{base}/collections/feed.atom")
            await verified(stage)

            await webhooks.add_webhook(peer.url, stage.services)

            assert len(await subscribers(stage)) == 2

        play(tmp_path, None, story)


def test_server_that_is_no_hub_names_none_and_takes_no_request(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(_: Stage, base: str) -> None:
        answer = await ask(base, "http://127.0.0.1:9/cb", f"{base}/collections/feed.atom")
        async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
            page = await client.get(f"{base}/collections/feed.atom")

        assert answer.status_code == 409
        assert "hub" not in page.links

    play(tmp_path, store_url, story, push=PushConfig())
