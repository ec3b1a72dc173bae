"""`feedmill media`: opt in, download, list, read, retry, prune."""

from pathlib import Path

import pytest
from tests.support.command_line import Mill, PublisherBeside
from tests.support.media_publisher import episode, media_file, mp3, podcast

from feedmill_demo.server.script import Answer


@pytest.fixture
def feed_url(mill: Mill, beside: PublisherBeside) -> str:
    """A podcast with two episodes, one of which is gone; polled once."""
    publisher = beside.publisher
    publisher.script("/pod/1.mp3", media_file(mp3(1)), host="127.0.0.1")
    publisher.script("/pod/2.mp3", Answer(status=404), host="127.0.0.1")
    items = (episode(n, publisher.url(f"/pod/{n}.mp3")) for n in (1, 2))
    publisher.script("/pod/feed", podcast(*items), host="127.0.0.1")
    url = publisher.url("/pod/feed")
    mill.ok("add", "--as-is", url)
    mill.ok("sync")
    return url


def test_files_are_downloaded_read_retried_and_pruned(
    mill: Mill, feed_url: str, tmp_path: Path, beside: PublisherBeside
) -> None:
    assert "no media files; to download" in mill.ok("media", "list").text
    on = mill.json("media", "enable", feed_url, "--type", "audio/*", "--newest", "5")
    fetched = mill.json("media", "fetch", feed_url)

    by_state = {one["state"]: one for one in fetched["items"]}
    assert on["items"][0] == {
        "feed_id": on["items"][0]["feed_id"],
        "media": True,
        "media_types": ["audio/*"],
        "media_newest": 5,
        "media_max_bytes": None,
    }
    stored, failed = by_state["stored"], by_state["failed"]
    assert failed["reason"] == "unreachable"
    assert "not-found" in failed["detail"]
    out = tmp_path / "episode.mp3"
    assert "written to" in mill.ok("media", "get", stored["media_id"], "--out", str(out)).text
    assert out.read_bytes() == mp3(1)
    assert "Episode 1.mp3" in mill.ok("media", "get", stored["media_id"]).text
    assert mill("media", "get", failed["media_id"], "--out", str(out)).status == 1
    assert "not-found" in mill.ok("media", "list", "--state", "failed").text

    beside.publisher.script("/pod/2.mp3", media_file(mp3(2)), host="127.0.0.1")
    mill.ok("media", "retry", failed["media_id"])
    mill.ok("sync")
    assert {one["state"] for one in mill.json("media", "list")["items"]} == {"stored"}
    checks = {one["name"]: one for one in mill("doctor", "--json").json["items"]}
    assert checks["media"]["ok"]
    assert checks["media"]["detail"].startswith("2 files, ")
    verified = mill.json("verify")
    assert (verified["media_files"], verified["problems"]) == (2, [])

    pruned = mill.json("media", "prune", stored["media_id"])
    assert pruned == {"pruned": 1, "files": 1}
    assert mill.json("media", "prune") == {"pruned": 0, "files": 0}
    assert mill.json("media", "prune", "--older-than", "1d")["pruned"] == 1
    assert mill("media", "retry", "nobody").status == 1
    assert mill.json("purge")["media"] == 0


def test_feed_opts_out(mill: Mill, feed_url: str) -> None:
    mill.ok("media", "enable", feed_url, "--max-mb", "1")
    shown = mill.json("show", feed_url)
    off = mill.ok("media", "disable", feed_url)

    assert shown["overrides"]["media_max_bytes"] == 1024 * 1024
    assert "off for 1 feed" in off.text
    mill.ok("sync")
    assert "no media files; to download" in mill.ok("media", "list").text
