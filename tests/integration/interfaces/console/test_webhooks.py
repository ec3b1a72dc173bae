"""Webhooks: endpoints, dead letters and replay."""

import re

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import NOON, Stage

from feedmill.model.event import Event
from feedmill.model.running.webhook import DeadLetter, Settlement
from feedmill_demo.server.script import Answer


def add(mill: ConsoleMill, browser: Browser) -> str:
    """An endpoint of the publisher; the path of its page."""

    async def publish(stage: Stage) -> str:
        stage.publisher.script("/hook", Answer(status=200))
        return stage.publisher.url("/hook")

    answer = browser.send(
        "/console/webhooks", {"url": mill.tell(publish)}, page="/console/webhooks"
    )
    found = re.search(r'href="(/console/webhooks/[^"]+)"', answer.body.decode())
    assert found is not None
    assert re.search(r"fmwh_[\w-]+", text_of(answer))
    return found[1]


async def bury(stage: Stage) -> None:
    """Give a batch up, as delivery does after too many attempts."""
    store = stage.services.store
    (webhook,) = await store.webhooks()
    event = Event(seq=1, id="e1", type="feed.added", feed_id="f", occurred_at=NOON)
    letter = DeadLetter(
        id="letter",
        webhook_id=webhook.id,
        events=(event,),
        reason="unavailable",
        attempts=9,
        died_at=NOON,
        status=503,
    )
    settled = Settlement(
        webhook_id=webhook.id,
        after=webhook.cursor,
        upto=webhook.cursor,
        at=NOON,
        result="unavailable",
        letter=letter,
    )
    assert await store.settle_webhook(settled)


def act(browser: Browser, page: str, action: str, **fields: str) -> str:
    return text_of(browser.send(f"{page}/change", {"action": action, **fields}, page=page))


def test_dead_letters_are_shown_and_sent_again(mill: ConsoleMill, browser: Browser) -> None:
    page = add(mill, browser)
    mill.tell(bury)

    assert "unavailable, HTTP 503" in text_of(browser.open(page))
    assert "1 dead letter delivered." in act(browser, page, "resend")
    assert "None." in text_of(browser.open(page))


def test_an_endpoint_is_paused_resumed_tested_replayed_and_removed(
    mill: ConsoleMill, browser: Browser
) -> None:
    page = add(mill, browser)

    assert "Paused." in act(browser, page, "pause")
    assert "Resumed" in act(browser, page, "resume")
    assert "Test delivery: delivered, HTTP 200." in act(browser, page, "test")
    assert "again from event 1 on" in act(browser, page, "replay", from_seq="1")
    assert "give the number" in act(browser, page, "replay", from_seq="x")
    assert "fmwh_" in act(browser, page, "rotate")
    assert "Remove the webhook?" in act(browser, page, "remove")
    assert "Webhook removed." in act(browser, page, "remove", confirmed="1")
    assert browser.open(page).status == 404


@pytest.mark.parametrize(
    "fields", [{"url": "http://10.0.0.1/"}, {"url": "https://a.example/", "types": "no.such"}]
)
def test_an_endpoint_that_has_no_meaning_is_refused(
    browser: Browser, fields: dict[str, str]
) -> None:
    assert browser.send("/console/webhooks", fields, page="/console/webhooks").status == 422


def test_an_unknown_action_is_refused(mill: ConsoleMill, browser: Browser) -> None:
    page = add(mill, browser)

    assert "unknown action 'dance'" in act(browser, page, "dance")
