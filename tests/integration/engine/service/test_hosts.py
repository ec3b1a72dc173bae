"""Hosts that can be seen: pauses, incidents, held feeds, the canary, as events and in words."""

import pytest
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper, said

from feedmill.config import HostConfig
from feedmill.engine.service.feed_health import describe_health
from feedmill.engine.service.hosts import get_host, hold_in_words, list_hosts
from feedmill.engine.service.queries import schedule
from feedmill.errors import NotFoundError

HASTY = HostConfig(rps=0, min_gap_ms=0, incident_base_sec=600.0)


async def _host_events(stage: Stage) -> list[dict[str, object]]:
    log = await stage.services.store.events(after=0, limit=1000)
    return [event.data for event in log if event.type == "host.state"]


def test_a_host_that_fails_for_several_feeds_is_an_incident_with_held_feeds_and_a_canary(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{n}", said(500), said(500), paper(n)) for n in range(5)]
        began = stage.clock.now()
        await stage.pass_once()

        (host,) = (await list_hosts(stage.services, troubled=True)).items
        assert (host.state, host.reason, host.failures) == ("incident", "server-error", 3)
        assert (host.feeds, host.due, host.held) == (5, 2, 2)
        assert host.since == began
        assert host.canary in {feed.id for feed in feeds}
        assert host.until is not None
        assert await get_host(host.host, stage.services) == host
        waiting = next(feed for feed in feeds if not stage.requests(f"/{feed.url[-1]}"))
        words = (await describe_health(waiting, stage.services)).words
        assert any("is held: its host is left alone" in sentence for sentence in words)
        assert not any("due now" in sentence for sentence in words)

        stage.later(seconds=700)
        for feed in feeds:
            stage.publish(feed, paper(9))
        await stage.pass_once()

        assert (await list_hosts(stage.services, troubled=True)).items == ()
        (well,) = (await list_hosts(stage.services)).items
        assert (well.state, well.since, well.canary, well.held) == ("well", None, None, 0)
        events = await _host_events(stage)
        assert [one["after"] for one in events] == ["incident", "well"]
        assert events[0]["canary"] == host.canary

    play(story, host=HASTY)


def test_a_429_pauses_the_host_and_explain_says_what_the_feed_waits_for(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(1))
        await stage.poll(feed)
        limited = await stage.add("/limited", said(429, ("Retry-After", "7200")))
        await stage.pass_once()
        await stage.services.store.make_due([feed.id], stage.clock.now())

        held = await hold_in_words(await stage.feed(feed), stage.services)
        page = await schedule(feed.id, stage.services)

        assert held is not None
        assert "(rate-limited)" in held
        assert "for another 2 h" in held
        assert f"feed {limited.id} tries it first" in held
        assert page.items[0].words[-1] == held
        (host,) = (await list_hosts(stage.services, troubled=True)).items
        assert (host.state, host.canary) == ("paused", None)
        assert [one["after"] for one in await _host_events(stage)] == ["paused"]

    play(story, host=HASTY)


def test_a_503_with_retry_after_holds_its_own_address_only(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(503, ("Retry-After", "3600")))
        other = await stage.add("/other", paper(1))
        await stage.pass_once()
        for one in (feed, other):
            await stage.services.store.make_due([one.id], stage.clock.now())

        held = await hold_in_words(await stage.feed(feed), stage.services)

        assert held is not None
        assert "this address is left alone" in held
        assert await hold_in_words(await stage.feed(other), stage.services) is None
        with pytest.raises(NotFoundError):
            await get_host("nowhere.example", stage.services)

    play(story, host=HASTY)
