"""kill -9 while files are downloaded: afterwards each is there whole, once, under its digest.

`make media-check` does the same at length.
"""

import asyncio
import signal
from pathlib import Path

import pytest
from tests.support.engine_harness import opened
from tests.support.killed_jobs import run_jobs_killed
from tests.support.media_drill import drill_media
from tests.support.media_publisher import digests, episode, media_file, mp3, podcast
from tests.support.waiting import hang_guard

from feedmill.adapters.clock import SystemClock
from feedmill.engine.maintain.retention import verify_media
from feedmill.model.derived.fetched import MediaFilter

BODY = mp3(1, 600_000)


@pytest.mark.parametrize("failpoint", ["media-write@2", "media-synced", "media-kept"])
def test_download_that_is_killed_at_its_file_ends_whole_and_once(
    tmp_path: Path, failpoint: str
) -> None:
    end_whole_and_once_when_killed(tmp_path, None, failpoint)


def test_download_that_is_killed_at_its_commit_ends_whole_and_once(
    tmp_path: Path, store_url: str | None
) -> None:
    failpoint = "store-commit@5" if store_url is None else "pg-written@3"
    end_whole_and_once_when_killed(tmp_path, store_url, failpoint)


def end_whole_and_once_when_killed(tmp_path: Path, store_url: str | None, failpoint: str) -> None:
    """Download a file, killed there and then to the end; the file is whole, and there once."""

    async def story() -> None:
        stage_here = opened(tmp_path, clock=SystemClock(), store_url=store_url)
        async with hang_guard(), stage_here as stage:
            answer = media_file(BODY, piece_bytes=100_000, pause_sec=0.01)
            stage.publisher.script("/1.mp3", answer, host="127.0.0.1")
            items = podcast(episode(1, stage.publisher.url("/1.mp3")))
            await stage.add("/feed", items, media=True)
            await stage.pass_once()
            await stage.close()

            killed = await run_jobs_killed(tmp_path, store_url, failpoint)
            ended = await run_jobs_killed(tmp_path, store_url)
            await stage.open()

            assert (killed, ended) == (-signal.SIGKILL, 0)
            (item,) = (await stage.services.store.media_items(MediaFilter())).items
            assert (item.state, {item.sha256}) == ("stored", digests([BODY]))
            assert [path.name for path in (tmp_path / "media" / "files").glob("*/*")] == [
                item.sha256
            ]
            assert stage.services.media is not None
            found = await verify_media(stage.services.store, stage.services.media)
            assert found == {"media_files": 1, "problems": []}
            assert len(await stage.events("media.stored")) == 1
            asked = [one.header("range") for one in stage.requests("/1.mp3")]
            assert len(asked) <= 2
            if failpoint == "media-write@2":
                assert (asked[-1] or "").startswith("bytes=")  # it went on where it was

    asyncio.run(story())


def test_files_with_every_fault_end_whole_once_and_within_the_quota_after_kills(
    tmp_path: Path, store_url: str | None
) -> None:
    processes, share = (1, 2.0) if store_url is None else (2, 0.5)

    drill = asyncio.run(
        drill_media(
            tmp_path / "home", store_url, files=26, kills=2, processes=processes, quota_share=share
        )
    )

    drill.check()
    assert drill.kills == 2
