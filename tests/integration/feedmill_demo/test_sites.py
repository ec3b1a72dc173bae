"""The village on a real socket, and the publisher as a process of its own."""

import asyncio
import gzip
import http.client
import itertools
import json
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import brotli
import pytest
import trustme
import zstandard
from benchmarks import load_site
from benchmarks.load_site import LoadSite
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.api import parse
from feedmill.model.parsed import ParsedFeed
from feedmill_demo.server.__main__ import main
from feedmill_demo.server.server import Publisher
from feedmill_demo.sites import DemoWeb

ROOT: Final = Path(__file__).parents[3]
DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": lambda octets: zstandard.ZstdDecompressor().decompress(octets),
}


def get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers in lower case, decoded body; `b""` for a body that breaks off."""
    _, _, netloc, path = url.split("/", 3)
    connection = http.client.HTTPConnection(netloc, timeout=HANG_GUARD_SEC)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", f"/{path}", headers=names)
    answer = connection.getresponse()
    fields = {name.lower(): value for name, value in answer.getheaders()}
    try:
        body = DECODERS[fields.get("content-encoding", "")](answer.read())
    except http.client.IncompleteRead:
        body = b""
    connection.close()
    return answer.status, fields, body


def follow(url: str, hops: int = 3) -> tuple[int, dict[str, str], bytes]:
    """The answer at the end of the redirects."""
    answer = get(url, accept_encoding="gzip, deflate, br, zstd")
    location = answer[1].get("location")
    return follow(location, hops - 1) if location and hops else answer


def test_every_house_answers_on_the_socket_as_it_is_described() -> None:
    async def story() -> dict[str, int]:
        village = DemoWeb(hosts=5)
        async with Publisher(village, addresses=5):
            feeds: dict[str, int] = {}
            for name, address in village.addresses().items():
                _, fields, body = await asyncio.to_thread(follow, address)
                parsed = parse(body, url=address, content_type=fields.get("content-type"))
                if isinstance(parsed, ParsedFeed):
                    feeds[name] = len(parsed.entries)
            assert set(village.addresses()) - set(feeds) == {
                "interrupted", "not-found", "gone", "web-page", "login", "bot-wall",
            }  # fmt: skip
            return feeds

    feeds = asyncio.run(story())

    assert feeds["huge"] == 500
    assert len(feeds) > 40


def test_an_unchanged_house_answers_304_on_the_socket() -> None:
    async def story() -> int:
        village = DemoWeb()
        async with Publisher(village) as publisher:
            url = publisher.url("/lighthouse/feed")
            _, fields, _ = await asyncio.to_thread(get, url)
            status, _, body = await asyncio.to_thread(get, url, if_none_match=fields["etag"])
            assert body == b""
            return status

    assert asyncio.run(story()) == 304


async def test_load_feeds_change_at_the_wanted_rate_and_gain_one_entry_each_time() -> None:
    site = LoadSite(fresh_every=4, entries=5)
    async with Publisher(site, record=0) as publisher:
        url, tag, documents = publisher.url("/load/17"), "", []
        for _ in range(12):
            status, fields, body = await asyncio.to_thread(get, url, if_none_match=tag)
            tag = fields["etag"]
            if status == 200:
                documents.append(parse(body, url=url, content_type=fields["content-type"]))
        missing, _, _ = await asyncio.to_thread(get, publisher.url("/nothing"))

    assert missing == 404
    assert site.unchanged + site.fresh == 12
    assert site.fresh == len(documents) in (3, 4)
    ids = [[e.id for e in d.entries] for d in documents if isinstance(d, ParsedFeed)]
    assert all(len(entries) == 5 for entries in ids)
    assert all(later[1:] == earlier[:-1] for earlier, later in itertools.pairwise(ids))


def test_load_feeds_can_stand_still_and_closing_clients_are_served_too() -> None:
    async def story() -> list[int]:
        async with Publisher(LoadSite(fresh_every=0)) as publisher:
            url = publisher.url("/load/1")
            _, fields, _ = await asyncio.to_thread(get, url, connection="close")
            tag = fields["etag"]
            again = [
                await asyncio.to_thread(get, url, if_none_match=tag, connection=connection)
                for connection in ("close", "keep-alive")
            ]
            missing = await asyncio.to_thread(get, publisher.url("/x"), connection="close")
            return [status for status, _, _ in (*again, missing)]

    assert asyncio.run(story()) == [304, 304, 404]


PROCESSES = [
    (["benchmarks.load_site"], "/load/5"),
    (["feedmill_demo.server", "--addresses", "3", "--pace", "20"], "/village.opml"),
]


@pytest.mark.parametrize(("arguments", "path"), PROCESSES)
def test_publisher_process_serves_until_sigterm(arguments: list[str], path: str) -> None:
    command = [sys.executable, "-m", *arguments, "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        origin = json.loads(process.stdout.readline())["origin"]

        status, _, body = get(origin + path)
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=HANG_GUARD_SEC) == 0
    assert status == 200
    assert len(body) > 1000


def test_the_process_stops_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate = tmp_path / "village.pem"
    trustme.CA().issue_cert("village.test").private_key_and_cert_chain_pem.write_to_path(
        certificate
    )

    main(["--seconds", "0.01", "--start", "2026-02-03T04:05:06", "--cert", str(certificate)])
    load_site.main(["--seconds", "0.01"])

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["origin"].partition(":")[0] for line in lines] == ["https", "http"]


def test_the_process_says_when_its_port_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit) as leaving:
            main(["--port", port, "--seconds", "0.01"])

    assert leaving.value.code == 1
    assert "choose another one with --port" in capsys.readouterr().err
