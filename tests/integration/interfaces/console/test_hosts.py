"""Hosts: pace, pauses, and the feeds that wait."""

from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage

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
    assert "Feeds that are polled there: 3; due now: 3; waiting for the host: 3" in one
    assert "backing off" in one
    assert "left alone until" in overview


def test_a_host_without_feeds_is_not_found(busy: ConsoleMill) -> None:
    assert busy.browser().open("/console/hosts/nobody.example").status == 404
    assert "No host matches." in text_of(busy.browser().open("/console/hosts?text=nobody"))
