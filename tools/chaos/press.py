"""The publisher of a trial, a process of its own: feeds that grow, hosts that are slow or say 429.

    python -m tools.chaos.press LOG FEEDS HOSTS SLOW_SEC SHORT_PAUSE_SEC LONG_PAUSE_SEC

Whatever is asked is written into LOG as it happens, one line when a request has come and one when
its answer goes out or its client leaves:

    B number monotonic_ns wall_us host feed worker
    E number monotonic_ns wall_us status pause_sec items sent|cut

The end of an answer is noted before its last octet is written: nobody can have read it earlier. It
prints its port, and `/control?growing=0&slow=0` on 127.0.0.1 changes its mood. It ends on SIGTERM or
after ten minutes.
"""

import asyncio
import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvloop
from tools.chaos.plan import Plan

from feedmill_demo.server.server import listening_sockets

SHOWN: Final = 40  # items of a document: more than anybody can miss between two polls
_LONGEST_SEC: Final = 600.0
_LIMITS_EVERY: Final = 45  # requests of a host that says 429 now and then
_FIRST_LIMIT: Final = 8
_STILL_EVERY: Final = 4  # one poll in so many finds nothing new
_REQUEST: Final = re.compile(rb"GET (?P<target>\S+) HTTP/1.1\r\n(?P<fields>.*?)\r\n\r\n", re.DOTALL)
_AGENT: Final = re.compile(rb"(?i)user-agent: *(\S+)")
_TAG: Final = re.compile(rb"(?i)if-none-match: *(\S+)")


class Press:
    """What is published and who asked for it."""

    def __init__(self, plan: Plan, log: Path) -> None:
        self.plan = plan
        self.growing, self.slow = True, True
        self._items = [2] * plan.feeds
        self._asked = [0] * plan.feeds
        self._asked_of_host: dict[str, int] = {}
        self._numbers = 0
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def began(self, host: str, feed: int, worker: str) -> int:
        """Note a request; its number."""
        self._numbers += 1
        self._note(f"B {self._numbers} {_stamp()} {host} {feed} {worker}")
        return self._numbers

    def ended(self, number: int, status: int, pause: int, items: int, how: str) -> None:
        """Note the end of a request."""
        self._note(f"E {number} {_stamp()} {status} {pause} {items} {how}")

    def delay_of(self, host: str) -> float:
        return self.plan.delay_of(int(host.rpartition(".")[2])) if self.slow else 0.0

    def limits(self, host: str) -> int:
        """The pause that this request is answered with; 0: it gets its document."""
        pause = self.plan.pause_of(int(host.rpartition(".")[2]))
        count = self._asked_of_host[host] = self._asked_of_host.get(host, 0) + 1
        return pause if pause and self.growing and count % _LIMITS_EVERY == _FIRST_LIMIT else 0

    def grow(self, feed: int) -> int:
        """How many items the feed has for whoever asks now."""
        self._asked[feed] += 1
        if self.growing and (self._asked[feed] + feed) % _STILL_EVERY:
            self._items[feed] += 1
        return self._items[feed]

    def _note(self, line: str) -> None:
        os.write(self._log, f"{line}\n".encode())


class Visit(asyncio.Protocol):
    """One connection; a worker keeps it for the feeds of a host."""

    def __init__(self, press: Press) -> None:
        self._press = press
        self._waiting = b""
        self._open: tuple[int, asyncio.TimerHandle] | None = None
        self._host = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._host = str(transport.get_extra_info("sockname")[0])

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while match := _REQUEST.match(self._waiting):
            self._waiting = self._waiting[match.end() :]
            self._serve(match["target"].decode("ascii"), match["fields"])

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # of the library
        if self._open is not None:
            number, timer = self._open
            timer.cancel()
            self._press.ended(number, 0, 0, 0, "cut")

    def _serve(self, target: str, fields: bytes) -> None:
        if target.startswith("/control?"):
            self._control(target)
            return
        agent = _AGENT.search(fields)
        worker = agent[1].decode("ascii", "replace") if agent else "nobody"
        number_of_feed = target.removeprefix("/feed/")
        feed = int(number_of_feed) if number_of_feed.isdecimal() else -1
        number = self._press.began(self._host, feed, worker)
        loop = asyncio.get_running_loop()
        tag = _TAG.search(fields)
        delay = self._press.delay_of(self._host)
        answering = (number, feed, tag[1].decode("ascii") if tag else "")
        if not delay:
            self._answer(*answering)
            return
        self._open = number, loop.call_later(delay, self._answer, *answering)

    def _answer(self, number: int, feed: int, tag: str) -> None:
        self._open = None
        press = self._press
        if feed < 0:
            self._send(number, _octets(404, (), b""), 404)
        elif pause := press.limits(self._host):
            self._send(number, _octets(429, (f"Retry-After: {pause}",), b""), 429, pause)
        else:
            items = press.grow(feed)
            current = f'"{feed}-{items}"'
            is_same = tag == current
            body = b"" if is_same else document(feed, items)
            fields = (f"ETag: {current}", "Content-Type: application/rss+xml")
            status = 304 if is_same else 200
            self._send(number, _octets(status, fields, body), status, 0, items)

    def _send(
        self, number: int, octets: bytes, status: int, pause: int = 0, items: int = 0
    ) -> None:
        self._press.ended(number, status, pause, items, "sent")
        with suppress(RuntimeError):  # the client has just left
            self._transport.write(octets)  # type: ignore[attr-defined]  # of a stream it is one

    def _control(self, target: str) -> None:
        for name, _, value in (pair.partition("=") for pair in target[9:].split("&")):
            setattr(self._press, name, value == "1")
        self._transport.write(_octets(204, (), b""))  # type: ignore[attr-defined]  # as above


def document(feed: int, items: int) -> bytes:
    """The newest items of a feed, with names that are the feed's and theirs alone."""
    shown = "".join(
        f"<item><guid isPermaLink='false'>{feed}-{number}</guid><title>{feed}, item {number}</title>"
        f"<link>http://feed{feed}.example/{number}</link></item>"
        for number in range(items, max(items - SHOWN, 0), -1)
    )
    home = f"<title>Feed {feed}</title><link>http://feed{feed}.example/</link>"
    return f"<rss version='2.0'><channel>{home}{shown}</channel></rss>".encode()


def _octets(status: int, fields: tuple[str, ...], body: bytes) -> bytes:
    length = () if status in (204, 304) else (f"Content-Length: {len(body)}",)
    return "\r\n".join((f"HTTP/1.1 {status} -", *fields, *length, "", "")).encode() + body


def _stamp() -> str:
    return f"{time.monotonic_ns()} {time.time_ns() // 1000}"


async def _serve(plan: Plan, log: Path) -> None:
    press, loop = Press(plan, log), asyncio.get_running_loop()
    stopping = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    addresses = ("127.0.0.1", *(plan.host_of(feed) for feed in range(plan.hosts)))
    sockets, port = listening_sockets(addresses, 0)
    for sock in sockets:
        await loop.create_server(lambda: Visit(press), sock=sock, backlog=256)
    print(port, flush=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_SEC):
            await stopping.wait()


if __name__ == "__main__":
    path, feeds, hosts, slow, short, long = sys.argv[1:]
    chosen = Plan(
        feeds=int(feeds),
        hosts=int(hosts),
        slow_sec=float(slow),
        short_pause_sec=int(short),
        long_pause_sec=int(long),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(chosen, Path(path)))
