"""A mill with its push listener open, and a publisher whose feed announces a hub."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from msgspec.structs import replace
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import item, rss
from tests.support.servers.free_port import free_port
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.config import PushConfig
from feedmill.engine.jobs import websub
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.push_listener import push_listener
from feedmill.model.feed import Feed, PushSubscription
from feedmill.push.hub import SIGNATURE, sign_delivery
from feedmill_demo.server.script import Answer, document

PushStory = Callable[[Stage], Awaitable[None]]


@asynccontextmanager
async def push_mill(
    home: Path, *, store_url: str | None = None, push: dict[str, Any] | None = None, **parts: Any
) -> AsyncIterator[Stage]:
    """A stage whose listener is reached by hubs on loopback."""
    port = free_port()
    config = PushConfig(
        public_url=f"http://127.0.0.1:{port}", port=port, pings_per_sec=0, hint_gap_sec=0
    )
    config = replace(config, **(push or {}))
    stage_of = opened(home, store_url=store_url, push=config, **parts)
    async with stage_of as stage, push_listener(stage.services):
        yield stage


def announcing(*items: str, hub: str | None, topic: str | None, **more: Any) -> Answer:
    """An RSS document that names its hub and itself."""
    extra = f'<atom:link rel="hub" href="{hub}"/>' if hub else ""
    extra += f'<atom:link rel="self" href="{topic}"/>' if topic else ""
    return document(rss(*items, extra=extra), **more)


async def run_push_jobs(stage: Stage) -> None:
    """Run the jobs of push that are due."""
    await run_due_jobs(stage.services, Lifecycle("one"), kinds=websub.KINDS)


async def subscription(stage: Stage, feed: Feed) -> PushSubscription:
    """The subscription of a feed that has one."""
    found = await stage.services.store.push_subscriptions(feed.id)
    assert found, "no subscription"
    return found[0]


async def pushed_feed(stage: Stage, target: str = "/feed") -> Feed:
    """A feed that is subscribed and verified at a hub that the test plays."""
    topic = stage.publisher.url(target, host="127.0.0.1")
    stage.publisher.script("/hub", Answer(status=202), host="127.0.0.1")
    hub = stage.publisher.url("/hub", host="127.0.0.1")
    feed = await stage.add(target, announcing(item(1), hub=hub, topic=topic))
    await stage.poll(feed)
    await run_push_jobs(stage)
    found = await subscription(stage, feed)
    answer = await get(
        callback(stage, found),
        hub__mode="subscribe",
        hub__topic=topic,
        hub__challenge="echo",
        hub__lease_seconds="864000",
    )
    assert (answer.status_code, answer.text) == (200, "echo")
    await stage.poll(feed)  # whatever was published before the verification
    return await stage.feed(feed)


async def publish_items(stage: Stage, feed: Feed, *numbers: int) -> None:
    """Let the feed of `pushed_feed` have these items from now on."""
    found = await subscription(stage, feed)
    items = [item(number) for number in numbers]
    stage.publish(feed, announcing(*items, hub=found.hub, topic=found.topic))


async def ping(
    stage: Stage,
    found: PushSubscription,
    body: bytes,
    *,
    secret: str | None = "",
    topic: str | None = "",
    content_type: str = "application/rss+xml",
) -> httpx.Response:
    """Send a ping as a hub does; None leaves signature or Link out."""
    headers = {"Content-Type": content_type}
    if secret is not None:
        headers[SIGNATURE] = sign_delivery(body, secret or found.secret)
    if topic is not None:
        headers["Link"] = f'<{topic or found.topic}>; rel="self", <{found.hub}>; rel="hub"'
    return await post(callback(stage, found), body, headers)


def callback(stage: Stage, found: PushSubscription) -> str:
    """Where the hub sends its pings."""
    return f"{stage.config.push.public_url}/push/{found.token}"


async def post(url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    """One POST on a connection of its own."""
    async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
        return await client.post(url, content=body, headers=headers)


async def get(url: str, **query: str) -> httpx.Response:
    """One GET on a connection of its own."""
    async with httpx.AsyncClient(trust_env=False, timeout=HANG_GUARD_SEC) as client:
        return await client.get(url, params={k.replace("__", "."): v for k, v in query.items()})


def play_push(home: Path, store_url: str | None, story: PushStory, **parts: Any) -> None:
    """Run a story on a mill of its own."""

    async def told() -> None:
        async with push_mill(home, store_url=store_url, **parts) as stage:
            await story(stage)

    asyncio.run(told())
