"""Our subscriber against a hub of another implementation (flask_websub), by the list of websub.rocks.

The numbers are those of https://websub.rocks/subscriber.
"""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.engine_harness import Stage, titles
from tests.support.feed_documents import ATOM, atom, atom_entry, item, rss
from tests.support.push_harness import (
    announcing,
    callback,
    get,
    ping,
    play_push,
    run_push_jobs,
    subscription,
)
from tests.support.websub_peers import PeerHub, peer_hub

from feedmill.engine.service.hosts import resubscribe
from feedmill.engine.service.queries import remove_feed
from feedmill.model.feed import BlobRef, Feed
from feedmill.model.running.job import JobFilter
from feedmill_demo.server.script import Answer, document


async def _subscribed(stage: Stage, *answers: Answer) -> Feed:
    """A feed that was polled, and whose hub was asked."""
    feed = await stage.add("/feed", *answers)
    await stage.poll(feed)
    await run_push_jobs(stage)
    return await stage.feed(feed)


def _url(stage: Stage, target: str = "/feed") -> str:
    return stage.publisher.url(target, host="127.0.0.1")


async def _is_subscribed(stage: Stage, hub: PeerHub, feed: Feed, topic: str) -> None:
    found = await subscription(stage, feed)
    assert (found.state, found.hub, found.topic) == ("active", hub.url, topic)
    assert [one[0] for one in await asyncio.to_thread(hub.subscribers, topic)] == [
        callback(stage, found)
    ]


def test_100_hub_of_the_link_header(tmp_path: Path, store_url: str | None) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            link = f'<{hub.url}>; rel="hub", <{topic}>; rel="self"'
            page = document(rss(item(1)))
            feed = await _subscribed(
                stage, Answer(headers=(*page.headers, ("Link", link)), body=page.body)
            )

            await _is_subscribed(stage, hub, feed, topic)
            assert feed.hubs == (hub.url,)

        play_push(tmp_path, store_url, story)


def test_101_hub_of_the_html_page_of_the_site(tmp_path: Path, store_url: str | None) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic, site = _url(stage, "/page"), _url(stage, "/site")
            page = f'<html><head><link rel="hub" href="{hub.url}"><link rel="self" href="{topic}">'
            stage.publisher.script("/site", document(page.encode(), "text/html"), host="127.0.0.1")
            body = rss(item(1)).replace(b"https://paper.example/<", f"{site}<".encode())
            feed = await _subscribed(stage, document(body))
            assert await stage.services.store.push_subscriptions(feed.id) == ()

            await resubscribe(feed, stage.services)
            await run_push_jobs(stage)

            await _is_subscribed(stage, hub, feed, topic)

        play_push(tmp_path, store_url, story)


def test_102_hub_of_an_atom_feed(tmp_path: Path, store_url: str | None) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            links = f'<link rel="hub" href="{hub.url}"/><link rel="self" href="{topic}"/>'
            feed = await _subscribed(stage, document(atom(atom_entry(1), extra=links), ATOM))

            await _is_subscribed(stage, hub, feed, topic)

        play_push(tmp_path, store_url, story)


def test_103_hub_of_an_rss_feed(tmp_path: Path, store_url: str | None) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=topic))

            await _is_subscribed(stage, hub, feed, topic)
            assert hub.requests[0]["hub.lease_seconds"] == "864000"

        play_push(tmp_path, store_url, story)


def test_104_hub_of_the_link_header_comes_before_that_of_the_document(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_hub(tmp_path / "hub") as hub, peer_hub(tmp_path / "other") as other:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            page = announcing(item(1), hub=other.url, topic=topic)
            link = f'<{hub.url}>; rel="hub", <{topic}>; rel="self"'
            answer = Answer(headers=(*page.headers, ("Link", link)), body=page.body)
            feed = await _subscribed(stage, answer)

            await _is_subscribed(stage, hub, feed, topic)
            assert feed.hubs == (hub.url, other.url)  # the second is there to fall back to
            assert other.requests == []

        play_push(tmp_path, store_url, story)


def test_200_topic_is_the_self_link_also_when_it_differs(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage, "/canonical")
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=topic))

            await _is_subscribed(stage, hub, feed, topic)

        play_push(tmp_path, store_url, story)


@pytest.mark.parametrize(
    "status", [pytest.param(302, id="201-temporary"), pytest.param(301, id="202-permanent")]
)
def test_201_202_topic_that_redirects_is_followed(
    tmp_path: Path, store_url: str | None, status: int
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage, "/moved")
            stage.publisher.script(
                "/moved", announcing(item(1), hub=hub.url, topic=topic), host="127.0.0.1"
            )
            redirect = Answer(status=status, headers=(("Location", topic),))
            feed = await _subscribed(stage, redirect)

            await _is_subscribed(stage, hub, feed, topic)

        play_push(tmp_path, store_url, story)


@pytest.mark.parametrize(
    "status", [pytest.param(307, id="203-temporary"), pytest.param(308, id="204-permanent")]
)
def test_203_204_hub_that_redirects_is_followed(
    tmp_path: Path, store_url: str | None, status: int
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic, announced = _url(stage), f"{hub.base}/moved/{status}"
            feed = await _subscribed(stage, announcing(item(1), hub=announced, topic=topic))

            found = await subscription(stage, feed)
            assert (found.state, found.hub) == ("active", announced)
            assert len(await asyncio.to_thread(hub.subscribers, topic)) == 1

        play_push(tmp_path, store_url, story)


def test_205_verification_of_an_unknown_topic_or_token_is_refused(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=_url(stage)))
            found = await subscription(stage, feed)
            own = {"hub__mode": "subscribe", "hub__challenge": "c", "hub__lease_seconds": "60"}

            other_topic = await get(
                callback(stage, found), hub__topic="https://other.example/", **own
            )
            unasked = await get(
                callback(stage, found),
                hub__topic=found.topic,
                hub__mode="unsubscribe",
                hub__challenge="c",
            )
            unknown = await get(callback(stage, found)[:-3] + "xxx", hub__topic=found.topic, **own)

            assert [one.status_code for one in (other_topic, unasked, unknown)] == [404] * 3
            assert (await subscription(stage, feed)).state == "active"

        play_push(tmp_path, store_url, story)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha384", "sha512"])
def test_300_delivery_is_acknowledged_and_its_entries_are_stored(
    tmp_path: Path, store_url: str | None, algorithm: str
) -> None:
    with peer_hub(tmp_path / "hub", algorithm=algorithm) as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            link = ("Link", f'<{hub.url}>; rel="hub", <{topic}>; rel="self"')
            pages = [
                Answer(headers=(*page.headers, link), body=page.body)
                for page in (
                    announcing(item(1), hub=hub.url, topic=topic),
                    announcing(item(2), item(1), hub=hub.url, topic=topic),
                )
            ]
            feed = await _subscribed(stage, *pages)

            await asyncio.to_thread(hub.publish, topic)

            assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
            found = await subscription(stage, feed)
            assert (found.pushes, found.by_push, found.by_poll) == (1, 1, 0)
            (last,) = [one for one in await stage.fetches(feed) if one.outcome == "pushed"]
            raw = await stage.services.blobs.get(await _blob(stage, last.body_sha256))
            assert b"Title 2" in raw
            assert [event.entry_uid is not None for event in await stage.events("new_entry")] == [
                True, True,
            ]  # fmt: skip
            # The publisher was asked by us once, and once by the hub.
            assert len(stage.requests()) == 2

        play_push(tmp_path, store_url, story)


async def _blob(stage: Stage, sha256: str | None) -> BlobRef:
    found = await stage.services.store.blob(sha256 or "")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "secret", [pytest.param("wrong", id="301-wrong"), pytest.param(None, id="302-missing")]
)
def test_301_302_delivery_with_a_bad_or_missing_signature_only_brings_a_poll_forward(
    tmp_path: Path, store_url: str | None, secret: str | None
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=_url(stage)))
            found = await subscription(stage, feed)
            assert await stage.wait_until_due(feed)

            answer = await ping(stage, found, rss(item(9)), secret=secret)

            assert answer.status_code == 202
            assert titles(await stage.entries(feed)) == ["Title 1"]
            assert await stage.wait_until_due(feed) < timedelta(seconds=1)
            after = await subscription(stage, feed)
            assert (after.rejected, after.pushes) == (1, 0)

        play_push(tmp_path, store_url, story)


def test_hub_that_denies_is_left_for_the_next_one(tmp_path: Path, store_url: str | None) -> None:
    with (
        peer_hub(tmp_path / "hub", deny=lambda *_: "not this topic") as hub,
        peer_hub(tmp_path / "other") as other,
    ):

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            links = f'<atom:link rel="hub" href="{other.url}"/>'
            page = announcing(item(1), hub=hub.url, topic=topic)
            body = page.body.replace(b"<item>", links.encode() + b"<item>", 1)
            feed = await _subscribed(stage, document(body))
            await run_push_jobs(stage)  # the denial came while the first hub was asked

            found = {one.hub: one for one in await stage.services.store.push_subscriptions(feed.id)}
            assert found[hub.url].state == "denied"
            assert "not this topic" in found[hub.url].last_error
            assert found[other.url].state == "active"

        play_push(tmp_path, store_url, story)


def test_lease_is_clamped_and_renewed_at_four_fifths_of_it(
    tmp_path: Path, store_url: str | None
) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=_url(stage)))
            first = await subscription(stage, feed)
            assert first.lease_until is not None
            assert first.verified_at is not None
            assert (first.lease_until - first.verified_at).days == 14

            stage.later(minutes=20)
            await run_push_jobs(stage)
            (job,) = (await stage.services.store.jobs(JobFilter(kind="websub"))).items
            assert (job.not_before - first.verified_at).total_seconds() == pytest.approx(
                0.8 * 14 * 86_400
            )
            stage.later(days=11.5)
            await stage.pass_once()
            await run_push_jobs(stage)

            assert len(hub.requests) == 2
            renewed = await subscription(stage, feed)
            assert (renewed.token, renewed.state) == (first.token, "active")
            assert renewed.lease_until is not None
            assert renewed.lease_until > first.lease_until

        play_push(tmp_path, store_url, story, push={"lease_sec": 30 * 86_400})


def test_removed_feed_is_unsubscribed_at_its_hub(tmp_path: Path, store_url: str | None) -> None:
    with peer_hub(tmp_path / "hub") as hub:

        async def story(stage: Stage) -> None:
            topic = _url(stage)
            feed = await _subscribed(stage, announcing(item(1), hub=hub.url, topic=topic))
            found = await subscription(stage, feed)
            await remove_feed(feed.id, stage.services)
            await run_push_jobs(stage)

            assert await asyncio.to_thread(hub.subscribers, topic) == []
            assert hub.requests[-1]["hub.mode"] == "unsubscribe"
            late = await ping(stage, found, rss(item(2)))
            assert late.status_code == 410

        play_push(tmp_path, store_url, story)
