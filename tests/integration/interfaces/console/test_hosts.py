"""Hosts: pace, pauses, and the feeds that wait."""

from tests.integration.interfaces.console.conftest import OpenMill
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage

from feedmill.config import HostConfig
from feedmill_demo.server.script import Answer

TOO_MANY = Answer(status=429, headers=(("Retry-After", "3600"),))


def test_a_host_that_asked_for_a_pause_says_who_waits(mill: ConsoleMill, browser: Browser) -> None:
    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{name}", TOO_MANY) for name in ("a", "b", "c")]
        await stage.poll(*feeds, times=2)
        await stage.services.store.make_due(None, stage.clock.now())

    mill.tell(story)
    resting = text_of(browser.open("/console/hosts?troubled=1"))
    one = text_of(browser.open(f"/console/hosts/127.0.0.1:{mill.stage.publisher.port}"))
    overview = text_of(browser.open("/"))

    assert "pauses (rate-limited) since" in resting
    assert "left alone until" in resting
    assert "3 feeds are polled there" in one
    assert "backing off" in one
    assert "is left alone until" in overview


def test_a_host_without_feeds_is_not_found(busy: ConsoleMill) -> None:
    assert busy.browser().open("/console/hosts/nobody.example").status == 404
    assert "No host matches." in text_of(busy.browser().open("/console/hosts?text=nobody"))


def test_a_host_incident_is_the_same_story_on_every_page(open_mill: OpenMill) -> None:
    mill = open_mill(host=HostConfig(rps=0, min_gap_ms=0, incident_base_sec=600.0))

    async def story(stage: Stage) -> str:
        feeds = [await stage.add(f"/{number}", Answer(status=500)) for number in range(5)]
        await stage.pass_once()
        return next(one.id for one in feeds if not stage.requests(f"/{one.url[-1]}"))

    waiting = mill.tell(story)
    browser = mill.browser()
    pages = {
        "hosts": text_of(browser.open("/console/hosts?troubled=1")),
        "host": text_of(browser.open(f"/console/hosts/127.0.0.1:{mill.stage.publisher.port}")),
        "feed": text_of(browser.open(f"/console/feeds/{waiting}")),
        "overview": text_of(browser.open("/")),
        "log": text_of(browser.open("/console/log?types=host.state")),
    }

    assert "fails (server-error) since" in pages["hosts"]
    assert "2 feeds wait" in pages["host"]
    assert "The feed is held: its host is left alone" in pages["feed"]
    assert "is left alone until" in pages["overview"]
    assert "incident" in pages["log"]
