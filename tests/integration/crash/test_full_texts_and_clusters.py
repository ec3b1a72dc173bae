"""kill -9 while pages are fetched and entries are clustered: afterwards each text and each story is there once."""

import asyncio
import signal
from pathlib import Path

import pytest
from tests.support.engine_harness import opened
from tests.support.feed_documents import rss
from tests.support.killed_jobs import run_jobs_killed
from tests.support.waiting import hang_guard
from tests.support.web_pages import page, served

from feedmill.adapters.clock import SystemClock
from feedmill_demo.server.script import Answer, document

# Commits of the process: the claim, the job's own rows, what the step stored, how it ended.
SQLITE = ["store-commit@3", "store-commit@5", "store-committed@4", "blob-synced"]
POSTGRES = ["pg-write@3", "pg-written@3"]


@pytest.mark.parametrize("failpoint", SQLITE)
def test_killed_on_sqlite(tmp_path: Path, failpoint: str) -> None:
    asyncio.run(_killed_and_finished(tmp_path, None, failpoint))


@pytest.mark.parametrize("failpoint", POSTGRES)
def test_killed_on_postgres(tmp_path: Path, migrated_dsn: str, failpoint: str) -> None:
    asyncio.run(_killed_and_finished(tmp_path, migrated_dsn, failpoint))


async def _killed_and_finished(home: Path, store_url: str | None, failpoint: str) -> None:
    async with hang_guard(), opened(home, clock=SystemClock(), store_url=store_url) as stage:
        stage.publisher.script("/robots.txt", Answer(status=404), host="127.0.0.1")
        stage.publisher.script("/story", served(page(1)), host="127.0.0.1")
        item = (
            "<item><guid>{0}</guid><title>The river rose again</title>"
            f"<link>{stage.publisher.url('/story')}</link></item>"
        )
        for name in ("a", "b"):
            body = document(rss(item.format(name)))
            await stage.add(f"/{name}", body, full_text=name == "a")
        await stage.pass_once()
        await stage.close()

        killed = await run_jobs_killed(home, store_url, failpoint)
        for _ in range(2):  # a job that was cut off waits for its turn behind the others
            assert await run_jobs_killed(home, store_url) == 0
        await stage.open()

        store = stage.services.store
        assert killed == -signal.SIGKILL
        (text,) = (await store.full_texts()).items
        assert (text.state, text.reason) == ("extracted", None)
        assert len(await stage.events("fulltext.extracted")) == 1
        (story,) = (await store.clusters()).items
        assert story.feeds == 2
        assert len(await stage.events("entry.clustered")) == 2
        assert len(stage.requests("/story")) <= 2
