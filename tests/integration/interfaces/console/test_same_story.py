"""The console and REST tell of a feed that cannot be polled as usual what explain, status and metrics tell.

The other interfaces: tests/integration/engine/service/test_same_story.py.
"""

from typing import Any

from tests.integration.interfaces.console.conftest import OpenMill
from tests.support.console_client import ConsoleMill, text_of
from tests.support.engine_harness import Stage
from tests.support.feed_documents import paper, said

from feedmill.config import HostConfig

HASTY = HostConfig(rps=0, min_gap_ms=0, incident_base_sec=600.0)


def pages(mill: ConsoleMill, feed_id: str) -> dict[str, str]:
    """What a person reads on each page that has to do with the feed."""
    browser, host = mill.browser(), f"127.0.0.1:{mill.stage.publisher.port}"
    places = {
        "overview": "/",
        "feeds": "/console/feeds",
        "feed": f"/console/feeds/{feed_id}",
        "hosts": "/console/hosts",
        "host": f"/console/hosts/{host}",
        "log": "/console/log",
    }
    return {name: text_of(browser.open(place)) for name, place in places.items()}


def asked(mill: ConsoleMill, path: str) -> Any:
    return mill.ask(path).json


def test_a_host_incident(open_mill: OpenMill) -> None:
    mill = open_mill(host=HASTY)

    async def story(stage: Stage) -> str:
        feeds = [await stage.add(f"/{number}", said(500)) for number in range(5)]
        await stage.pass_once()
        return next(one.id for one in feeds if not stage.requests(f"/{one.url[-1]}"))

    waiting = mill.tell(story)
    shown, status = pages(mill, waiting), asked(mill, "/status")

    (host,) = status["resting_hosts"]
    assert (host["state"], host["reason"], host["held"]) == ("incident", "server-error", 2)
    assert status["feeds"]["held"] == 2
    for page in ("overview", "hosts", "host"):
        assert "fails (server-error) since" in shown[page], page
        assert "and 2 feeds wait" in shown[page], page
    assert "The feed is held: its host is left alone" in shown["feed"]
    assert "before well, after incident, reason server-error" in shown["log"]
    words = asked(mill, f"/feeds/{waiting}/health")["words"]
    assert any("The feed is held: its host is left alone" in one for one in words)


def test_a_held_host(open_mill: OpenMill) -> None:
    mill = open_mill(host=HASTY)

    async def story(stage: Stage) -> str:
        waiting = await stage.add("/waiting", paper(1), paper(2))
        await stage.pass_once()
        limited = await stage.add("/limited", said(429, ("Retry-After", "7200")))
        await stage.poll(limited)
        stage.later(minutes=40)
        return waiting.id

    waiting = mill.tell(story)
    shown, status = pages(mill, waiting), asked(mill, "/status")

    assert [one["reason"] for one in status["resting_hosts"]] == ["rate-limited"]
    for page in ("overview", "hosts", "host"):
        assert "pauses (rate-limited) since" in shown[page], page
        assert "and 1 feed waits" in shown[page], page
    assert "The feed is held: its host is left alone" in shown["feed"]
    assert "before well, after paused, reason rate-limited" in shown["log"]


def test_a_pause_that_is_over(open_mill: OpenMill) -> None:
    mill = open_mill(host=HASTY)

    async def story(stage: Stage) -> str:
        limited = await stage.add("/limited", said(429, ("Retry-After", "600")))
        await stage.poll(limited)
        stage.later(minutes=40)
        return limited.id

    limited = mill.tell(story)
    shown, status = pages(mill, limited), asked(mill, "/status")

    assert status["resting_hosts"] == []
    assert "pauses" not in " ".join(shown.values())
    for page in ("hosts", "host"):
        assert "paused (rate-limited) since" in shown[page], page
        assert "the pause is over, and the next poll tries the host" in shown[page], page
    assert "The next poll is due now." in shown["feed"]


def test_a_push_only_feed(open_mill: OpenMill) -> None:
    mill = open_mill(host=HASTY)

    async def story(stage: Stage) -> str:
        feed = await stage.add("/feed", paper(1), push_only=True)
        await stage.poll(feed)
        stage.later(days=3)
        return feed.id

    feed = mill.tell(story)
    shown, status = pages(mill, feed), asked(mill, "/status")

    assert (status["feeds"]["due"], status["feeds"]["late"]) == (0, 0)
    assert "1 well" in shown["overview"]
    assert "Own setting: push only, so it is polled every 7 d." in shown["feed"]
    words = " ".join(asked(mill, f"/feeds/{feed}/health")["words"])
    assert "Own setting: push only" in words
    for one in (words, shown["feed"]):
        assert "Push: off, because [push] public_url is not set." in one
        assert "as usual" not in one


def test_a_tripped_circuit(open_mill: OpenMill) -> None:
    mill = open_mill(host=HASTY)

    async def story(stage: Stage) -> str:
        turns = [one for n in range(1, 9) for one in (paper(n), said(404))]
        feed = await stage.add("/feed", *turns, paper(9))
        for _ in range(len(turns) + 1):
            await stage.poll(feed)
        return feed.id

    feed = mill.tell(story)
    shown, status = pages(mill, feed), asked(mill, "/status")

    assert status["feeds"]["circuit_open"] == 1
    assert asked(mill, f"/feeds/{feed}/health")["circuit"] == "open"
    for page in ("overview", "feeds", "feed", "host"):
        assert "circuit open: works and fails by turns" in shown[page], page
    assert "1 with an open circuit" in shown["overview"]
    assert "its circuit is open since" in shown["feed"]
    assert "after backing-off, circuit open" in shown["log"]
