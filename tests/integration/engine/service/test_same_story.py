"""Explain, health, status, hosts and metrics say the same about a feed that cannot be polled."""

from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper, said
from tests.support.scraped_metrics import scraped

from feedmill.config import HostConfig
from feedmill.engine.service import queries
from feedmill.engine.service.hosts import list_hosts
from feedmill.engine.service.status import needs_attention, status
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter
from feedmill.publish.shapes import FeedChange

HASTY = HostConfig(rps=0, min_gap_ms=0, incident_base_sec=600.0)


async def explained(feed: Feed, stage: Stage) -> str:
    page = await queries.schedule(feed.id, stage.services)
    return " ".join(sentence for item in page.items for sentence in item.words)


async def health_of(feed: Feed, stage: Stage) -> str:
    return " ".join((await queries.health(feed.id, stage.services)).words)


def test_a_host_incident(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{n}", paper(n), said(500), said(500)) for n in range(5)]
        await stage.pass_once()
        stage.later(hours=2)
        await stage.pass_once()
        asked = [feed for feed in feeds if len(stage.requests(f"/{feed.url[-1]}")) == 2]
        held = [feed for feed in feeds if feed not in asked]
        assert (len(asked), len(held)) == (3, 2)

        shown, page = await status(stage.services), await scraped(stage)

        (host,) = (await list_hosts(stage.services, troubled=True)).items
        assert (host.state, host.reason, host.held) == ("incident", "server-error", 2)
        (resting,) = shown.resting_hosts
        assert (resting.host, resting.until, resting.reason, resting.failures) == (
            host.host, host.until, host.reason, host.failures,
        )  # fmt: skip
        assert shown.feeds.held == host.held
        assert any(host.host in one and "server-error" in one for one in shown.advice)
        assert [(one.outcome, one.fault, one.count) for one in shown.failures] == [
            ("server-error", "host", 3)
        ]
        assert 'feedmill_resting_hosts{reason="server-error"} 1.0' in page
        assert 'feedmill_feeds{state="held"} 2.0' in page
        for feed in held:
            for words in (await explained(feed, stage), await health_of(feed, stage)):
                assert "The feed is held: its host is left alone" in words
                assert "(server-error)" in words

    play(story, host=HASTY)


def test_a_host_that_asked_for_patience(play: Play) -> None:
    async def story(stage: Stage) -> None:
        waiting = await stage.add("/waiting", paper(1), paper(2))
        await stage.pass_once()
        limited = await stage.add("/limited", said(429, ("Retry-After", "7200")))
        await stage.poll(limited)
        stage.later(minutes=40)

        shown, page = await status(stage.services), await scraped(stage)

        (host,) = (await list_hosts(stage.services, troubled=True)).items
        (resting,) = shown.resting_hosts
        assert (resting.host, resting.until, resting.reason) == (
            host.host,
            host.until,
            "rate-limited",
        )
        assert shown.feeds.held == host.held == 1
        assert 'feedmill_resting_hosts{reason="rate-limited"} 1.0' in page
        assert 'feedmill_feeds{state="held"} 1.0' in page
        for words in (await explained(waiting, stage), await health_of(waiting, stage)):
            assert "The feed is held: its host is left alone" in words
            assert "(rate-limited)" in words

    play(story, host=HASTY)


def test_a_feed_that_is_paused_is_neither_due_nor_late(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)
        await queries.change_feed(feed.id, FeedChange(paused=True), stage.services)
        stage.later(days=1)

        shown, page = await status(stage.services), await scraped(stage)

        assert (shown.feeds.paused, shown.feeds.due, shown.feeds.late) == (1, 0, 0)
        assert 'feedmill_feeds{state="paused"} 1.0' in page
        assert "paused" in await health_of(feed, stage)
        assert all(level.met for level in shown.levels)

    play(story)


def test_a_push_only_feed_is_polled_weekly_and_not_late_before(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), push_only=True)
        await stage.poll(feed)
        stage.later(days=3)

        shown, page = await status(stage.services), await scraped(stage)

        assert (shown.feeds.due, shown.feeds.late) == (0, 0)
        assert 'feedmill_feeds{state="late"} 0.0' in page
        for words in (await explained(feed, stage), await health_of(feed, stage)):
            assert "push only" in words.lower() or "push-only" in words.lower()

    play(story)


def test_a_tripped_circuit(play: Play) -> None:
    async def story(stage: Stage) -> None:
        turns = [one for n in range(1, 9) for one in (paper(n), said(404))]
        feed = await stage.add("/feed", *turns, paper(9))
        steady = await stage.add("/steady", paper(1))
        await stage.poll(steady)
        for _ in range(len(turns) + 1):
            feed = await stage.poll(feed)
            stage.later(hours=1)
        assert feed.schedule.circuit == "open"

        shown, page = await status(stage.services), await scraped(stage)

        health = await queries.health(feed.id, stage.services)
        assert (health.kind, health.circuit) == ("well", "open")
        assert health.error_budget_used > 0.375
        assert health.circuit_since is not None
        assert shown.feeds.circuit_open == 1
        assert any("feedmill list --state circuit-open" in one for one in shown.advice)
        assert 'feedmill_feeds{state="circuit_open"} 1.0' in page
        since = f"{health.circuit_since:%Y-%m-%d %H:%M:%S} UTC"
        assert f"its circuit is open since {since}" in " ".join(health.words)
        assert "has spent its error budget" in await explained(feed, stage)
        assert (await stage.services.store.feed_states())["circuit-open"] == 1
        where = FeedFilter(state="circuit-open")
        assert [one.id for one in (await stage.services.store.find_feeds(where)).items] == [feed.id]
        warned = {one.path: one.words for one in await needs_attention(stage.services)}
        assert warned[f"/console/feeds/{feed.id}"] == "circuit open: works and fails by turns"
        opened = [one.data for one in await stage.events() if one.type == "feed.state"]
        assert [one["circuit"] for one in opened if one["circuit"] != one["circuit_before"]] == [
            "open"
        ]

    play(story, host=HASTY)
