"""`make import-check`: ten thousand outlines, one kill -9 in the middle, and what the hosts saw of it.

    python -m tools.import_check [--outlines 10000] [--hosts 250] [--gap-ms 20]

The publisher is a process of its own and keeps the book that everything is read from: every request
with its moment and its host. It talks to loopback only and ends by itself; the exit code is 1 when
a promise was broken.
"""

import argparse
import asyncio
import os
import resource
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import quoteattr

import msgspec

from feedmill_demo.server.script import Answer, Request, document, no_answer, redirect
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site

KINDS: Final = (  # of 100 outlines of a host
    ("feed", 58),
    ("tracked", 12),  # a feed of the list again, with a tracking parameter
    ("slashed", 6),  # a feed of the list again, with a slash at its end
    ("page", 10),
    ("moved", 6),  # a redirect to a feed that is not listed otherwise
    ("missing", 6),
    ("malformed", 2),
)
TIMEOUT_MS: Final = 1_500
LIMIT_SEC: Final = 1_800.0
TOLERANCE_SEC: Final = 0.004  # timers count in milliseconds
FOLDERS: Final = 20
_ITEM: Final = (
    "<item><guid>{0}/{1}</guid><link>https://paper.example/{0}/{1}</link>"
    "<title>Entry {1} of {0}</title><description>Some words of {0}.</description></item>"
)
_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)


class Listed(NamedTuple):
    """One outline of the list, and what has to become of it."""

    url: str
    folder: str
    feed: str  # the address under which it is to be subscribed; empty: it has none
    outcome: str  # taken (added or here already), unproven, failed


class Asked(NamedTuple):
    """One line of the publisher's book."""

    host: str
    target: str
    at: float


def main() -> int:
    """Run the whole check; 1 when a promise was broken."""
    options = _options()
    if options.publish:
        asyncio.run(_publish(options))
        return 0
    with tempfile.TemporaryDirectory(prefix="feedmill-import-") as folder:
        try:
            _check(Path(folder), options)
        except AssertionError as broken:
            print(f"a promise was broken: {broken}")
            return 1
    print("no host was hurried, nothing was asked twice, nothing was lost")
    return 0


def _check(folder: Path, options: argparse.Namespace) -> None:
    book = folder / "book.ndjson"
    publisher = _start_publisher(book, options)
    try:
        port = _port(publisher)
        listed = list(_list(options.outlines, options.hosts, port))
        (folder / "list.opml").write_bytes(_opml(listed))
        began = time.monotonic()
        killed_after = _kill_in_the_middle(folder, options, book)
        done, split = _done(folder), len(_read(book))
        result = _import(folder, options, "--json", "--report", str(folder / "report.ndjson"))
        took = time.monotonic() - began
    finally:
        publisher.send_signal(signal.SIGTERM)
        publisher.wait(30)
    asked = _read(book)
    _check_hosts(asked, options.gap_ms / 1000)
    _check_resumed(asked, split, done, port)
    _check_outcomes(folder, listed)
    _check_store(folder, listed)
    _sum_up(result, asked, done, took, killed_after)


# The list and the site that it is about


def _list(outlines: int, hosts: int, port: int) -> Iterator[Listed]:
    """The outlines, host by host in turn, so that neighbours in the list are on other hosts."""
    kinds = [kind for kind, share in KINDS for _ in range(share)]
    step = 37  # coprime to 100: the kinds are mixed
    feeds: dict[int, int] = defaultdict(int)
    for number in range(outlines):
        host = number % hosts
        turn = number // hosts
        kind = "silent" if host == 0 else kinds[turn * step % len(kinds)]
        base = f"http://{_address(host)}:{port}"
        folder = f"folder {number % FOLDERS}"
        feed = f"{base}/feed/{turn}"
        known = f"{base}/feed/{feeds[host]}"
        match kind:
            case "feed":
                feeds[host] = turn
                yield Listed(feed, folder, feed, "taken")
            case "tracked":
                yield Listed(f"{known}?utm_source=list{turn}", folder, known, "taken")
            case "slashed":
                yield Listed(f"{known}/?fbclid={turn}", folder, known, "taken")
            case "page":
                yield Listed(f"{base}/page/{turn}", folder, f"{base}/of-page/{turn}", "taken")
            case "moved":
                yield Listed(f"{base}/moved/{turn}", folder, f"{base}/now/{turn}", "taken")
            case "missing":
                yield Listed(f"{base}/missing/{turn}", folder, "", "failed")
            case "silent":
                yield Listed(f"{base}/silent/{turn}", folder, f"{base}/silent/{turn}", "unproven")
            case _:
                yield Listed(f"http://[broken/{number}", folder, "", "failed")


def _address(host: int) -> str:
    return f"127.0.1.{host + 1}"


def _opml(listed: Sequence[Listed]) -> bytes:
    folders: dict[str, list[str]] = defaultdict(list)
    for one in listed:
        folders[one.folder].append(f'<outline type="rss" xmlUrl={quoteattr(one.url)}/>')
    body = "".join(
        f'<outline text="{name}">{"".join(inner)}</outline>' for name, inner in folders.items()
    )
    return f'<?xml version="1.0"?><opml version="2.0"><body>{body}</body></opml>'.encode()


class Town(Site):
    """Answers every host out of the path, and writes every request into the book at once."""

    def __init__(self, book: Path) -> None:
        self._book = os.open(book, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._began = time.monotonic()

    def answer(self, request: Request) -> Answer | None:
        """By the first part of the path; the rest tells one feed from another."""
        host = (request.header("host") or "").partition(":")[0]
        line = Asked(host, request.target, time.monotonic() - self._began)
        os.write(self._book, msgspec.json.encode(line) + b"\n")
        _, kind, number, *_ = (*request.path.split("/"), "", "")
        match kind:
            case "feed" | "of-page" | "now":
                return document(_document(f"{host}/{kind}/{number}"))
            case "page":
                link = f'<link rel="alternate" type="application/rss+xml" href="/of-page/{number}">'
                body = f"<!doctype html><html><head>{link}</head><body></body></html>"
                return Answer(headers=_HTML, body=body.encode())
            case "moved":
                return redirect(f"/now/{number}")
            case "silent":
                return no_answer()
            case _:
                return None


def _document(name: str) -> bytes:
    items = "".join(_ITEM.format(name, number) for number in range(10))
    title = f"<title>Feed {name}</title><link>https://paper.example/{name}</link>"
    return f"<rss version='2.0'><channel>{title}{items}</channel></rss>".encode()


async def _publish(options: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    town = Town(options.publish)
    async with Publisher(town, addresses=options.hosts, record=0, patience_sec=60) as publisher:
        print(publisher.port, flush=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT_SEC):
                await stopping.wait()


# The processes


def _start_publisher(book: Path, options: argparse.Namespace) -> Popen[bytes]:
    words = ["--publish", str(book), "--hosts", str(options.hosts)]
    return Popen([sys.executable, "-m", "tools.import_check", *words], stdout=PIPE)


def _port(publisher: Popen[bytes]) -> int:
    assert publisher.stdout is not None
    return int(publisher.stdout.readline())


def _start_import(folder: Path, options: argparse.Namespace, *words: str) -> Popen[bytes]:
    own = {
        "FEEDMILL_HOME": str(folder / "home"),
        "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
        "FEEDMILL_HOST_MIN_GAP_MS": str(options.gap_ms),
        "HOST_RPS": "0",
        "FETCH_TIMEOUT_MS": str(TIMEOUT_MS),
        "FEEDMILL_LOG": "error",
    }
    feedmill = str(Path(sys.executable).with_name("feedmill"))
    command = [feedmill, "import", str(folder / "list.opml")]
    return Popen([*command, *words], stdout=PIPE, env=os.environ | own)


def _kill_in_the_middle(folder: Path, options: argparse.Namespace, book: Path) -> float:
    """kill -9 when half of the outlines may be done; after how many seconds that was."""
    began = time.monotonic()
    with _start_import(folder, options) as process:
        while process.poll() is None and _lines(book) < options.outlines * 0.55:
            with suppress(TimeoutExpired):
                process.wait(0.05)
            assert time.monotonic() - began < LIMIT_SEC, "the first half takes too long"
        assert process.returncode is None, "the import ended before it could be killed"
        process.kill()
        process.wait(30)
    return time.monotonic() - began


def _import(folder: Path, options: argparse.Namespace, *words: str) -> dict[str, Any]:
    with _start_import(folder, options, *words) as process:
        out, _ = process.communicate(timeout=LIMIT_SEC)
        assert process.returncode == 0, f"the import left with {process.returncode}"
    result: dict[str, Any] = msgspec.json.decode(out)
    return result


# What the book and the store say


def _check_hosts(asked: Sequence[Asked], gap_sec: float) -> None:
    """No host is asked again before its gap is over; where a redirect leads is the same visit."""
    last: dict[str, Asked] = {}
    for one in asked:
        before = last.get(one.host)
        is_led = before is not None and one.target == before.target.replace("/moved/", "/now/")
        if before is not None and not (is_led and one.target != before.target):
            gap = one.at - before.at
            assert gap >= gap_sec - TOLERANCE_SEC, f"{gap:.4f} s between {before} and {one}"
        last[one.host] = one


def _check_resumed(asked: Sequence[Asked], split: int, done: set[str], port: int) -> None:
    """What the killed run had written down is not asked for again."""
    again = {f"http://{one.host}:{port}{one.target}" for one in asked[split:]} & done
    assert not again, f"{len(again)} outlines were asked again, such as {min(again)}"


def _check_outcomes(folder: Path, listed: Sequence[Listed]) -> None:
    words = {"added": "taken", "existing": "taken", "unproven": "unproven", "failed": "failed"}
    lines = (folder / "report.ndjson").read_bytes().splitlines()
    report = {item["url"]: item for item in map(msgspec.json.decode, lines)}
    assert len(report) == len({one.url for one in listed}), "outlines are missing in the report"
    for one in listed:
        item = report[one.url]
        assert words[item["outcome"]] == one.outcome, f"{item} should be {one.outcome}"


def _check_store(folder: Path, listed: Sequence[Listed]) -> None:
    """One feed for each that is listed, under its address, with the tags of all its folders."""
    expected: dict[str, set[str]] = defaultdict(set)
    for one in listed:
        if one.feed:
            expected[one.feed].add(one.folder)
    with sqlite3.connect(folder / "home" / "feedmill.db") as connection:
        rows = connection.execute("SELECT url, tags FROM feeds").fetchall()
    found = {url: set(msgspec.json.decode(tags)) for url, tags in rows}
    assert len(rows) == len(found), "a feed is there twice"
    lost, strange = expected.keys() - found.keys(), found.keys() - expected.keys()
    assert not lost, f"{len(lost)} feeds are missing, such as {min(lost)}"
    assert not strange, f"{len(strange)} feeds nobody listed, such as {min(strange)}"
    wrong = [url for url, tags in expected.items() if found[url] != tags]
    assert not wrong, f"tags of {len(wrong)} feeds differ, such as {wrong[0]}: {found[wrong[0]]}"


def _done(folder: Path) -> set[str]:
    with sqlite3.connect(folder / "home" / "feedmill.db") as connection:
        rows = connection.execute("SELECT url FROM import_outlines WHERE url <> ''")
        return {url for (url,) in rows}


def _read(book: Path) -> list[Asked]:
    lines = book.read_bytes().splitlines()
    return [Asked(*msgspec.json.decode(line)) for line in lines]


def _lines(book: Path) -> int:
    return book.read_bytes().count(b"\n") if book.exists() else 0


def _sum_up(
    result: dict[str, Any], asked: Sequence[Asked], done: set[str], took: float, killed: float
) -> None:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, total = used.ru_utime + used.ru_stime, result["total"]
    busiest = Counter(one.host for one in asked).most_common(1)[0]
    print(
        f"{total} outlines: {result['added']} added, {result['existing']} already subscribed, "
        f"{len(result['unproven'])} unproven, {len(result['failed'])} refused\n"
        f"killed after {killed:.1f} s with {len(done)} done; {result['resumed']} not asked again\n"
        f"{len(asked)} requests to {len({one.host for one in asked})} hosts, "
        f"at most {busiest[1]} to one\n"
        f"{took:.1f} s in all: {total / took:.0f} outlines/s, {len(asked) / took:.0f} requests/s\n"
        f"{cpu:.1f} s of CPU, publisher included: {1000 * cpu / total:.1f} ms per outline; "
        f"at most {used.ru_maxrss / 1024:.0f} MB in one process"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--outlines", type=int, default=10_000)
    parser.add_argument("--hosts", type=int, default=250, help="at most 254")
    parser.add_argument("--gap-ms", type=int, default=20)
    parser.add_argument("--publish", type=Path, metavar="BOOK", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
