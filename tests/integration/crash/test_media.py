"""kill -9 in the middle of a download: afterwards the file is there whole, once, under its digest."""

import asyncio
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from tests.support.engine_harness import opened
from tests.support.media_publisher import digests, episode, media_file, mp3, podcast
from tests.support.waiting import hang_guard
from tests.support.warm_process import CHILDREN, start_script

from feedmill.adapters.clock import SystemClock
from feedmill.engine.maintain.retention import verify_media
from feedmill.model.media import MediaFilter

BODY = mp3(1, 600_000)


@pytest.mark.parametrize(
    "failpoint", ["media-write@2", "media-synced", "media-kept", "store-commit@5"]
)
def test_killed_download_ends_whole_and_once(tmp_path: Path, failpoint: str) -> None:
    async def story() -> None:
        async with hang_guard(), opened(tmp_path, clock=SystemClock()) as stage:
            answer = media_file(BODY, piece_bytes=100_000, pause_sec=0.01)
            stage.publisher.script("/1.mp3", answer, host="127.0.0.1")
            items = podcast(episode(1, stage.publisher.url("/1.mp3")))
            await stage.add("/feed", items, media=True)
            await stage.pass_once()
            await stage.close()

            killed = await _child(tmp_path, "first", failpoint)
            _end_leases(tmp_path)
            ended = await _child(tmp_path, "second", None)
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


async def _child(home: Path, name: str, failpoint: str | None) -> int:
    environment = {} if failpoint is None else {"FEEDMILL_FAILPOINT": failpoint}
    script = CHILDREN / "download_media.py"
    process = await start_script(script, str(home), name, env=os.environ | environment)
    return await process.wait()


def _end_leases(home: Path) -> None:
    """As if the leases of the killed process had run out: a test does not wait for them."""
    with sqlite3.connect(home / "feedmill.db") as connection:
        connection.execute("UPDATE jobs SET lease_until = 0 WHERE state = 'running'")
        connection.execute("UPDATE lanes SET claim_at = 0, owner = NULL WHERE owner IS NOT NULL")
