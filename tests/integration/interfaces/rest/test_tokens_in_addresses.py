"""A token in the address of a feed appears in no answer, event, log line, meta-feed or export."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import paper
from tests.support.rest_client import RestMill

from feedmill.engine.service import queries
from feedmill.engine.service.subscriptions import export_opml
from feedmill.observe import log
from feedmill.publish.ndjson import event_line
from feedmill.publish.to_json import feed_wire, fetch_wire
from feedmill_demo.server.script import document

SECRET = "s3cr3t"
HOME = f"https://paper.example/?api_key={SECRET}"


def test_token_of_a_feed_is_shown_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> list[bytes]:
        async with opened(tmp_path / "home") as stage:
            feed = await stage.add(f"/feed?token={SECRET}", paper(1))
            await stage.poll(feed)
            services = stage.services
            fetches = (await services.store.fetches(feed.id, limit=10)).items
            log.set_up("info")
            log.logger("poll").info("polled", url=feed.url)
            assert SECRET in (await stage.feed(feed)).url
            return [
                str(await queries.list_feeds(services)).encode(),
                str(await queries.get_feed(feed.id, services)).encode(),
                str(feed_wire(feed, services.config.schedule)).encode(),
                *(str(fetch_wire(fetch)).encode() for fetch in fetches),
                *[str(await queries.fetch(fetch.fetch_id, services)).encode() for fetch in fetches],
                *(event_line(event) for event in await services.store.events(after=0)),
                await export_opml(services),
            ]

    shown = asyncio.run(story())

    assert len(shown) >= 6
    assert [one for one in shown if SECRET.encode() in one] == []
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert "token=***" in said.out + said.err


def test_token_is_in_no_answer_that_a_reader_gets(mill: RestMill) -> None:
    async def poll(stage: Stage) -> tuple[str, str]:
        page = paper(1).body.replace(b"https://paper.example/<", HOME.encode() + b"<")
        feed = await stage.add(f"/feed?token={SECRET}", document(page))
        await stage.poll(feed)
        return feed.id, (await stage.entries(feed))[0].entry_uid

    feed_id, entry_uid = mill.tell(poll)
    names = {"feed_id": feed_id, "id": feed_id, "entry_uid": entry_uid}
    known = [
        re.sub(r"\{(\w+)[^}]*\}", lambda found: names.get(found[1], "x"), path)
        for path, methods in mill.ask("/openapi.json").json["paths"].items()
        if "get" in methods and not path.endswith("/stream")
    ]

    answers = {path: mill.ask(path) for path in known}

    assert sum(answer.status == 200 for answer in answers.values()) > 30
    assert [path for path, answer in answers.items() if SECRET.encode() in answer.body] == []
    assert f"/feeds/{feed_id}/health" in answers


def test_token_in_the_address_of_a_webhook_is_not_shown_again(mill: RestMill) -> None:
    added = mill.send("/webhooks", {"url": f"https://hook.example/?token={SECRET}"})

    answers = [added, mill.ask("/webhooks"), mill.ask(added.headers["location"])]

    assert [answer.status for answer in answers] == [201, 200, 200]
    assert [answer.body for answer in answers if SECRET.encode() in answer.body] == []
    assert answers[2].json["url"] == "https://hook.example/?token=***"


def test_token_in_an_address_that_cannot_be_imported_is_not_shown(mill: RestMill) -> None:
    given = f'<opml><body><outline xmlUrl="http://10.0.0.1/?token={SECRET}"/></body></opml>'

    answer = mill.ask(
        "/import", method="POST", body=given.encode(), headers={"Content-Type": "text/x-opml"}
    )

    assert [one["url"] for one in answer.json["failed"]] == ["http://10.0.0.1/?token=***"]
    assert SECRET.encode() not in answer.body
