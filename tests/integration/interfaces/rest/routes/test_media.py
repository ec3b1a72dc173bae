"""Media over HTTP: listed with their progress, read by range, retried."""

from pathlib import Path

import httpx
from tests.support.engine_harness import opened
from tests.support.job_kinds import run_due
from tests.support.media_publisher import episode, media_file, mp3, podcast
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.engine.jobs.media import KINDS
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.rest.server import rest_server
from feedmill_demo.server.script import Answer

BODY = mp3(1, 700_000)


async def test_files_are_listed_read_by_range_and_retried(tmp_path: Path) -> None:
    async with hang_guard(), opened(tmp_path) as stage:
        publisher = stage.publisher
        publisher.script("/1.mp3", media_file(BODY), host="127.0.0.1")
        publisher.script("/2.mp3", Answer(status=404), host="127.0.0.1")
        items = (episode(n, publisher.url(f"/{n}.mp3")) for n in (1, 2))
        feed = await stage.add("/feed", podcast(*items), media=True)
        await stage.pass_once()
        await run_due(stage.services, *KINDS)
        async with (
            rest_server(stage.services, Lifecycle("the test"), port=0) as address,
            httpx.AsyncClient(base_url=address, trust_env=False, timeout=HANG_GUARD_SEC) as http,
        ):
            await _read(http, feed.id)


async def _read(http: httpx.AsyncClient, feed_id: str) -> None:
    listed = (await http.get("/media", params={"feed": feed_id, "state": "stored"})).json()
    (stored,) = listed["items"]
    (failed,) = (await http.get("/media?state=failed")).json()["items"]
    path = f"/media/{stored['media_id']}"
    assert (await http.get(path)).json() == stored
    assert (await http.get("/media/nobody")).status_code == 404

    whole = await http.get(f"{path}/file")
    assert (whole.status_code, whole.content) == (200, BODY)
    assert whole.headers["content-type"] == "audio/mpeg"
    assert whole.headers["content-length"] == str(len(BODY))
    assert whole.headers["accept-ranges"] == "bytes"
    assert "Episode%201.mp3" in whole.headers["content-disposition"]
    tag = whole.headers["etag"]

    part = await http.get(f"{path}/file", headers={"Range": "bytes=100-299999"})
    assert (part.status_code, part.content) == (206, BODY[100:300_000])
    assert part.headers["content-range"] == f"bytes 100-299999/{len(BODY)}"
    last = await http.get(f"{path}/file", headers={"Range": "bytes=-5", "If-Range": tag})
    assert last.content == BODY[-5:]
    other = await http.get(f"{path}/file", headers={"Range": "bytes=-5", "If-Range": '"x"'})
    assert (other.status_code, len(other.content)) == (200, len(BODY))
    beyond = await http.get(f"{path}/file", headers={"Range": f"bytes={len(BODY)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(BODY)}")
    same = await http.get(f"{path}/file", headers={"If-None-Match": tag})
    assert same.status_code == 304

    assert (await http.get(f"/media/{failed['media_id']}/file")).status_code == 404
    retried = await http.post(f"/media/{failed['media_id']}/retry")
    assert retried.json()["state"] == "queued"
    assert (await http.post(f"{path}/retry")).status_code == 409
