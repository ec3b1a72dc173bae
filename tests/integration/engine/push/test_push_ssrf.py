"""Addresses that hubs, subscribers and archives name are asked through the guard: none of them leads inside."""

from pathlib import Path

import pytest
from tests.integration.engine.push.test_websub_hub import ask, hub_mill, subscribers, verified
from tests.support.engine_harness import Stage
from tests.support.feed_documents import atom, atom_entry, atom_link, item
from tests.support.job_kinds import run_due
from tests.support.push_harness import announcing, play_push, run_push_jobs, subscription

from feedmill.engine.jobs.backfill import KIND as BACKFILL
from feedmill.engine.service.jobs import start_backfill
from feedmill_demo.server.script import Answer, document

INSIDE = "http://10.1.2.3/secret"
AWAY = Answer(status=302, headers=(("Location", INSIDE),))


@pytest.mark.parametrize("status", [307, 308])
def test_hub_that_redirects_inside_is_not_followed(
    tmp_path: Path, store_url: str | None, status: int
) -> None:
    async def story(stage: Stage) -> None:
        answer = Answer(status=status, headers=(("Location", INSIDE),))
        stage.publisher.script("/hub", answer, host="127.0.0.1")
        hub, topic = (stage.publisher.url(one) for one in ("/hub", "/feed"))
        feed = await stage.add("/feed", announcing(item(1), hub=hub, topic=topic))
        await stage.poll(feed)
        for _ in range(5):
            await run_push_jobs(stage)
            stage.later(hours=1)
            await stage.pass_once()

        found = await subscription(stage, feed)
        assert found.state == "failed"
        assert "private-address" in found.last_error

    play_push(tmp_path, store_url, story)


def test_archive_page_that_redirects_inside_is_not_read(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/archive", AWAY, host="127.0.0.1")
        older = atom_link("prev-archive", "/archive")
        feed = await stage.add("/feed", document(atom(atom_entry(1), extra=older)))
        await stage.poll(feed)
        await start_backfill(await stage.feed(feed), stage.services)

        records = await run_due(stage.services, BACKFILL)

        assert records[-1].reason == "private-address"
        assert len(await stage.entries(feed)) == 1

    play_push(tmp_path, store_url, story)


def test_archive_that_is_inside_is_another_host(tmp_path: Path, store_url: str | None) -> None:
    async def story(stage: Stage) -> None:
        older = atom_link("prev-archive", INSIDE)
        feed = await stage.add("/feed", document(atom(atom_entry(1), extra=older)))
        await stage.poll(feed)
        await start_backfill(await stage.feed(feed), stage.services)

        assert [one.reason for one in await run_due(stage.services, BACKFILL)] == ["other-host"]

    play_push(tmp_path, store_url, story)


async def test_callback_inside_is_refused_and_one_that_redirects_there_is_not_followed(
    tmp_path: Path, store_url: str | None
) -> None:
    async with hub_mill(tmp_path, store_url) as (stage, base):
        topic = f"{base}/collections/feed.atom"
        refused = await ask(base, INSIDE, topic)
        stage.publisher.script("/callback", AWAY, host="127.0.0.1")
        taken = await ask(base, stage.publisher.url("/callback"), topic)
        await verified(stage)

        assert refused.status_code == 422
        assert taken.status_code == 202
        assert len(stage.publisher.requests_to("/callback")) == 1
        assert await subscribers(stage) == ()
