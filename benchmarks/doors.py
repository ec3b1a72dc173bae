"""`make bench-doors`: what the HTTP door costs, against FastAPI, at length, and beside a busy mill.

Every server is a process of its own. Rivals take turns on the same SQLite file, and what is
compared is the CPU time of the server processes, so that neighbours on the machine do not decide.

    python -m benchmarks.doors [--quick] [--json] [--check] [--only a,b,c]

(a) 100 entries as JSON; ours checks a token, writes an ETag and counts the request, the rival does
neither. Once the same page, which ours keeps until the next commit, and once another page each time. (b) Every entry as NDJSON: how many a second, and how much the server grows meanwhile.
(c) The slowest percent of reads, while a mill in another process polls at full speed on the same
file, against the same reads without it. Everything talks to loopback only and stops by itself.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from benchmarks.contestants import CORES, Publisher, mill
from benchmarks.many_entries import fill
from benchmarks.mill import Line, _print

from feedmill.app.services import DATABASE_NAME, open_services
from feedmill.app.settings import load_config
from feedmill.engine.service.auth import issue_token

_COMMAND: Final = str(Path(sys.executable).with_name("feedmill"))
_CONNECTIONS: Final = 4
_PATIENCE_SEC: Final = 30.0


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much is asked for."""

    entries: int
    turns: int
    requests: int  # of a turn
    feeds: int
    reads: int


FULL: Final = Size(entries=1_000_000, turns=9, requests=200, feeds=4_000, reads=1_500)
QUICK: Final = Size(entries=100_000, turns=3, requests=100, feeds=1_000, reads=300)


class Server:
    """A server process, its port, and what it has used."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, token: str = "") -> None:
        self.process, self.port = process, port
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def cpu_sec(self) -> float:
        """CPU time so far, of all its threads."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text("ascii")
        fields = text.rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self, field: str = "VmHWM") -> float:
        """The most memory that it had, or has now."""
        text = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        line = next(line for line in text.splitlines() if line.startswith(field))
        return int(line.split()[1]) / 1024

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_SEC)


def main() -> None:
    options = _options()
    size = QUICK if options.quick else FULL
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="feedmill-bench-") as folder:
        home = Path(folder)
        began = time.perf_counter()
        fill(home, size.entries)
        if not options.json:
            print(f"{size.entries:,} entries were made in {time.perf_counter() - began:.0f} s")
        for letter, scenario in _SCENARIOS.items():
            if not options.only or letter in options.only.split(","):
                found = scenario(home, size)
                lines += found
                if not options.json:
                    _print(found)
    if options.json:
        print(json.dumps([msgspec.to_builtins(line) | {"met": line.met} for line in lines]))
    if options.check and not all(line.met for line in lines):
        sys.exit(1)


def listing(home: Path, size: Size) -> list[Line]:
    """(a) 100 entries as JSON, in turns with FastAPI."""
    with ours(home) as mine, rival(home) as theirs:
        _same_answer(mine, theirs)
        same, other, pages = ["/entries?limit=100"], _pages(mine, size.requests), list[float]()
        rates: dict[str, list[float]] = {"mine": [], "theirs": []}
        for _ in range(size.turns):
            rates["mine"].append(asyncio.run(_hammer(mine, same * size.requests)))
            rates["theirs"].append(asyncio.run(_hammer(theirs, same * size.requests)))
            pages.append(asyncio.run(_hammer(mine, other)))
    mine_rate, their_rate, page_rate = median(rates["mine"]), median(rates["theirs"]), median(pages)
    what = "100 entries as JSON"
    return [
        Line(what=f"{what}: lists per CPU-second", figure=mine_rate, unit="lists"),
        Line(what=f"{what}: the same by FastAPI and pydantic", figure=their_rate, unit="lists"),
        Line(what=f"{what}: ratio", figure=mine_rate / their_rate, unit="×", at_least=5.0),
        Line(what=f"{what}: another page each time", figure=page_rate, unit="lists"),
        Line(what=f"{what}: that ratio", figure=page_rate / their_rate, unit="×"),
    ]


def streaming(home: Path, size: Size) -> list[Line]:
    """(b) Everything as NDJSON, once."""
    with ours(home) as server:
        _read_lines(server, "/entries?limit=1000", most=5_000)  # warm
        before, cpu, began = server.rss_mb(), server.cpu_sec(), time.perf_counter()
        lines, octets = _read_lines(server, "/entries?limit=1000")
        wall, used = time.perf_counter() - began, server.cpu_sec() - cpu
        grown = server.rss_mb() - before
    assert lines == size.entries, f"{lines:,} lines came of {size.entries:,}"
    what = f"{size.entries:,} entries as NDJSON"
    note = f"{octets / 1e6:,.0f} MB"
    return [
        Line(what=f"{what}: by the wall clock", figure=lines / wall, unit="lines/s", note=note),
        Line(what=f"{what}: per CPU-second", figure=lines / used, unit="lines"),
        Line(what=f"{what}: growth of the server", figure=grown, unit="MB", at_most=64.0),
    ]


def beside(home: Path, size: Size) -> list[Line]:
    """(c) Reads without and with a mill that polls on the same file at full speed."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        server = stack.enter_context(ours(home, core=None))
        busy = stack.enter_context(mill(str(home)))
        busy.ask("subscribe", urls=publisher.urls(size.feeds))
        busy.ask("work")
        idle, loaded, polls, shares = list[float](), list[float](), 0, list[float]()
        for _ in range(3):  # in turns, because the machine has moods
            idle += asyncio.run(_read_calmly(server, size.reads // 3))
            busy.tell("work")
            began = time.perf_counter()
            loaded += asyncio.run(_read_calmly(server, size.reads // 3))
            reading = time.perf_counter() - began
            worked = busy.hear()
            polls += int(worked["polls"])
            shares.append(min(1.0, worked["wall"] / reading))
    slow_idle, slow_loaded = _percentile(idle, 0.99), _percentile(loaded, 0.99)
    what = "reads beside a busy mill"
    note = f"{polls:,} polls, during {min(shares):.0%} of the reading or more"
    return [
        Line(what=f"{what}: median, idle", figure=median(idle) * 1000, unit="ms"),
        Line(what=f"{what}: median, loaded", figure=median(loaded) * 1000, unit="ms"),
        Line(what=f"{what}: p99, idle", figure=slow_idle * 1000, unit="ms"),
        Line(what=f"{what}: p99, loaded", figure=slow_loaded * 1000, unit="ms", note=note),
        Line(what=f"{what}: p99 against idle", figure=slow_loaded / slow_idle, unit="×", at_most=2),
    ]


@contextmanager
def ours(home: Path, core: int | None = 0) -> Iterator[Server]:
    """`feedmill serve`, with a token."""
    token = asyncio.run(_token(home))
    port = _free_port()
    own = {"FEEDMILL_ACCESS_REQUESTS_PER_SEC": "0", "FEEDMILL_LOG": "error"}
    command = [_COMMAND, "--home", str(home), "serve", "--port", str(port)]
    with _running(command, port, own, core) as process:
        yield Server(process, port, token)


@contextmanager
def rival(home: Path) -> Iterator[Server]:
    """FastAPI on the same file."""
    port = _free_port()
    command = [sys.executable, "-m", "benchmarks.rival_door", str(home / DATABASE_NAME), str(port)]
    with _running(command, port, {}, 0) as process:
        yield Server(process, port)


async def _token(home: Path) -> str:
    async with open_services(load_config(None, str(home))) as services:
        return (await issue_token("the benchmark", ["read"], services.store, services.clock)).secret


@contextmanager
def _running(
    command: list[str], port: int, own: dict[str, str], core: int | None
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(command, env=os.environ | own, stdout=subprocess.DEVNULL)
    try:
        if core is not None:
            os.sched_setaffinity(process.pid, {CORES[core]})
        _wait_for(port, process)
        yield process
    finally:
        process.terminate()
        process.wait(_PATIENCE_SEC)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE_SEC
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    message = "the server did not begin to listen"
    raise RuntimeError(message)


def _same_answer(mine: Server, theirs: Server) -> None:
    """Both list the same entries; pydantic writes moments a little differently."""
    pages = [json.loads(_get(server, "/entries?limit=100")) for server in (mine, theirs)]
    kept = ("entry_uid", "feed_id", "title", "summary", "content", "link", "categories", "raw_refs")
    shown = [[[item[name] for name in kept] for item in page["items"]] for page in pages]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 100


def _get(server: Server, path: str) -> bytes:
    with closing(server.connect()) as connection:
        connection.request("GET", path, headers=server.headers)
        return connection.getresponse().read()


def _pages(server: Server, count: int) -> list[str]:
    """The first pages of the list, one after the other."""
    paths = ["/entries?limit=100"]
    while len(paths) < count:
        following = json.loads(_get(server, paths[-1]))["next"]
        paths.append(f"/entries?limit=100&cursor={following}")
    return paths


async def _hammer(server: Server, paths: list[str]) -> float:
    """Lists per CPU-second of the server, on a few connections that are kept."""
    before = server.cpu_sec()
    shares = [paths[number::_CONNECTIONS] for number in range(_CONNECTIONS)]
    await asyncio.gather(*(_ask_all(server, one) for one in shares))
    return len(paths) / (server.cpu_sec() - before)


async def _ask_all(server: Server, paths: list[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**20)
    for path in paths:
        await _ask(server, path, reader, writer)
    writer.close()


async def _ask(
    server: Server, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert head.startswith(b"http/1.1 200"), head
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


async def _read_calmly(server: Server, reads: int) -> list[float]:
    """How long each of many small reads took, one at a time on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**20)
    page = json.loads(await _ask(server, "/entries?limit=50", reader, writer))
    paths = ["/entries?limit=20", "/feeds?limit=20", "/events?limit=20"]
    paths += [f"/entries/{one['entry_uid']}" for one in page["items"]]
    took = []
    for number in range(reads):
        began = time.perf_counter()
        await _ask(server, paths[number % len(paths)], reader, writer)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0.002)
    writer.close()
    return took


def _read_lines(server: Server, path: str, most: int = sys.maxsize) -> tuple[int, int]:
    """Lines and bytes that came."""
    headers = {**server.headers, "Accept": "application/x-ndjson"}
    lines = octets = 0
    with closing(server.connect()) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        while lines < most and (piece := answer.read1(1 << 18)):
            lines += piece.count(b"\n")
            octets += len(piece)
    return lines, octets


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What the HTTP door costs")
    parser.add_argument("--quick", action="store_true", help="fewer entries and turns")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of the table")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is missed")
    parser.add_argument("--only", default="", help=f"of {','.join(_SCENARIOS)}")
    return parser.parse_args()


_SCENARIOS: Final[dict[str, Callable[[Path, Size], list[Line]]]] = {
    "a": listing,
    "b": streaming,
    "c": beside,
}

if __name__ == "__main__":
    main()
