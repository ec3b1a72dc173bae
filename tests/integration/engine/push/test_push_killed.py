"""A process that is killed while it stores a ping: the hub sends again, and the entry is stored once."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.support.engine_harness import opened, titles
from tests.support.feed_documents import item, paper, rss
from tests.support.push_harness import post
from tests.support.servers.free_port import free_port
from tests.support.waiting import hang_guard
from tests.support.warm_process import CHILDREN, start_script

from feedmill.adapters.clock import SystemClock
from feedmill.model.feed import PushSubscription
from feedmill.push.hub import SIGNATURE, sign_delivery

BODY, SECRET, TOKEN = rss(item(2)), "geheim", "t" * 43


@pytest.mark.parametrize("failpoint", ["store-commit", "store-committed", "blob-synced"])
async def test_ping_whose_process_was_killed_is_stored_once_when_it_comes_again(
    tmp_path: Path, failpoint: str
) -> None:
    async with hang_guard(), opened(tmp_path, clock=SystemClock()) as stage:
        feed = await stage.add("/feed", paper(1))
        await stage.pass_once()
        await stage.services.store.add_push_subscription(
            PushSubscription(
                token=TOKEN,
                feed_id=feed.id,
                hub="https://hub.example/",
                topic="https://topic.example/",
                secret=SECRET,
                state="active",
                created_at=stage.clock.now(),
            )
        )
        await stage.close()

        killed = await _ping(tmp_path, failpoint)
        status = await _ping(tmp_path, None)
        await stage.open()

        assert (killed, status) == (-signal.SIGKILL, 202)
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
        assert len(await stage.events("new_entry")) == 2


async def _ping(home: Path, failpoint: str | None) -> int:
    """Send the ping to a process of its own: how that ended, or what it answered."""
    port = free_port()
    own = {} if failpoint is None else {"FEEDMILL_FAILPOINT": failpoint}
    process = await start_script(
        *(CHILDREN / "push_listener.py", str(home), str(port)),
        env=os.environ | own,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    headers = {SIGNATURE: sign_delivery(BODY, SECRET), "Content-Type": "application/rss+xml"}
    if failpoint is not None:
        with suppress(httpx.HTTPError):
            await post(f"http://127.0.0.1:{port}/push/{TOKEN}", BODY, headers)
        return await process.wait()
    answer = await post(f"http://127.0.0.1:{port}/push/{TOKEN}", BODY, headers)
    process.send_signal(signal.SIGTERM)
    await process.wait()
    return answer.status_code
