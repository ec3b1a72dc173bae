"""kill -9 in the middle of an import: it goes on where it was, and hosts notice nothing."""

import signal
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.command_line import Mill, finish
from tests.support.subscribe_harness import feed_document, page
from tests.support.waiting import HANG_GUARD_SEC, block_until

from feedmill_demo.server.script import Answer, Request
from feedmill_demo.server.server import Publisher

HOSTS, EACH = 8, 8
GAP_MS, DELAY_MS, TOLERANCE_MS = 40, 10, 5
ONE_OUTLINE = 2  # so many requests does one cost: the page and its feed, a spelling and its proof
FOLDERS = ("news", "sport", "maps")


def test_a_killed_import_goes_on_without_a_second_request_for_what_was_done(
    mill: Mill, publisher: Publisher
) -> None:
    outlines = _publish(publisher)
    _write(Path("list.opml"), outlines)
    mill.setenv(FEEDMILL_HOST_MIN_GAP_MS=str(GAP_MS))

    with mill.start("import", "list.opml") as killed:
        block_until(lambda: len(publisher.requests) >= HOSTS * EACH // 2, "half of the requests")
        killed.send_signal(signal.SIGKILL)
        assert killed.wait(HANG_GUARD_SEC) == -signal.SIGKILL
    before = publisher.requests
    done = _done(mill.home / "feedmill.db")
    publisher.clear()
    with mill.start("import", "list.opml", "--json", "--report", "report.ndjson") as resumed:
        result = finish(resumed).json
    after = publisher.requests

    assert 0 < len(done) < len(outlines)
    assert result["resumed"] == len(done)
    assert not {_url(publisher, request) for request in after} & done
    again = {(r.address, r.target) for r in before} & {(r.address, r.target) for r in after}
    under_way = Counter(host for host, target in again if target != "/robots.txt")
    assert all(count <= ONE_OUTLINE for count in under_way.values())
    assert _politely(before)
    assert _politely(after)
    _check_nothing_is_lost(mill, result, outlines)


def _check_nothing_is_lost(mill: Mill, result: dict[str, Any], outlines: Sequence[str]) -> None:
    feeds = mill.json("list", "--limit", "1000")["items"]
    missing = [url for url in outlines if "/missing/" in url]
    dead = {item["url"] for item in result["failed"]}
    assert dead == set(missing)
    assert result["total"] == len(outlines)
    assert len(feeds) == len({feed["url"] for feed in feeds}) == HOSTS * 5
    assert all(set(feed["tags"]) & set(FOLDERS) for feed in feeds)


def _publish(publisher: Publisher) -> list[str]:
    """Of each host: four feeds, one again with a tracking parameter, a page, a 404, a spelling."""
    outlines = []
    for host in (f"127.0.1.{number}" for number in range(1, HOSTS + 1)):
        number = int(host.rpartition(".")[2]) * 100
        for feed in range(4):
            answer = feed_document(number + 2 * feed, number + 2 * feed + 1)
            publisher.script(f"/feed/{feed}", _slow(answer), host=host)
        publisher.script("/site/", _slow(page({"href": "/site/feed"})), host=host)
        publisher.script("/site/feed", _slow(feed_document(number + 50)), host=host)
        publisher.script("/robots.txt", _slow(Answer(status=404)), host=host)
        publisher.script("/missing/", _slow(Answer(status=404)), host=host)
        targets = [f"/feed/{feed}" for feed in range(4)]
        targets += ["/feed/0?utm_source=a", "/site/", "/missing/", "/feed/1?utm_medium=b"]
        outlines += [publisher.url(target, host=host) for target in targets]
    return outlines


def _slow(answer: Answer) -> Answer:
    return replace(answer, delay_sec=DELAY_MS / 1000)


def _write(path: Path, outlines: Sequence[str]) -> None:
    folders = "".join(
        f'<outline text="{name}">'
        + "".join(f'<outline type="rss" xmlUrl="{url}"/>' for url in outlines[at :: len(FOLDERS)])
        + "</outline>"
        for at, name in enumerate(FOLDERS)
    )
    path.write_text(f'<opml version="2.0"><body>{folders}</body></opml>')


def _done(database: Path) -> set[str]:
    """What the killed process had written down as done."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT url FROM import_outlines WHERE url <> ''")
        return {url for (url,) in rows}


def _url(publisher: Publisher, request: Request) -> str:
    return publisher.url(request.target, host=request.address)


def _politely(requests: Sequence[Request]) -> bool:
    """One request of a host at a time, and the gap after the answer of each."""
    least = (GAP_MS + DELAY_MS - TOLERANCE_MS) / 1000
    last: dict[str, float] = {}
    for request in requests:
        if request.offset_sec - last.get(request.address, -1.0) < least:
            return False
        last[request.address] = request.offset_sec
    return True
