"""The event log: the newest events, filtered, and live."""

import re

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.rest_client import lines_of

from feedmill.engine.ports.entries import NewestEvent
from feedmill_demo.server.script import document


def numbers(body: bytes) -> list[int]:
    return [int(one) for one in re.findall(rb'data-label="Number">(\d+)</td>', body)]


def test_events_are_listed_with_the_newest_first(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/log")

    found = numbers(page.body)
    assert found == sorted(found, reverse=True)
    assert found[-1] == 1
    assert "Title 3" in text_of(page)


@pytest.mark.parametrize("kind", ["feed.added", "new_entry"])
def test_events_are_filtered_by_type(busy: ConsoleMill, kind: str) -> None:
    page = busy.browser().open(f"/console/log?types={kind}")

    kinds = set(re.findall(rb'data-label="Type">([a-z_.]+)</td>', page.body))
    assert kinds == {kind.encode()}


def test_events_before_a_number_are_listed_without_following(busy: ConsoleMill) -> None:
    page = busy.browser().open("/console/log?before=3")

    assert numbers(page.body) == [2, 1]
    assert b"data-stream" not in page.body
    assert numbers(busy.browser().open("/console/log?before=x").body)[0] > 2


def test_new_events_arrive_as_rows(mill: ConsoleMill, browser: Browser) -> None:
    assert "No event yet." in text_of(browser.open("/console/log"))

    async def publish(stage: Stage) -> None:
        feed = await stage.add("/paper", document(rss(item(1))))
        await stage.poll(feed)

    with lines_of(mill, "/console/log/stream?types=new_entry&after=0") as lines:
        mill.tell(publish)
        row = next(line for line in lines if line.startswith(b"data: <tr>"))

    assert b"Title 1" in row
    assert b"new_entry" in row


def test_log_that_went_back_is_one_page_away(mill: ConsoleMill, browser: Browser) -> None:
    async def live(stage: Stage) -> None:
        await stage.add("/before", document(rss(item(1))))
        (last,) = await stage.services.store.events(after=0)
        told = NewestEvent(seq=last.seq + 7, id="an event that the log lacks")
        await stage.services.store.append_rewound(told, stage.clock.now())
        await stage.add("/after", document(rss(item(1))))

    mill.tell(live)

    page = browser.open("/console/log")

    assert numbers(page.body) == [1_000_009, 1_000_008, 1]


def test_stream_after_an_event_that_the_log_lacks_is_refused(busy: ConsoleMill) -> None:
    beyond = {"Last-Event-ID": "1000000"}

    refused = busy.browser().ask("/console/log/stream", headers=beyond)

    assert refused.status == 409


def test_pages_that_refresh_themselves_are_told_when(busy: ConsoleMill) -> None:
    with lines_of(busy, "/console/stream") as lines:
        assert next(lines) == b"retry: 3000\n"
