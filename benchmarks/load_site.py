"""A site for load tests: any number of feeds at /load/<number>, answered from prebuilt parts.

    python -m benchmarks.load_site --help

Each feed gains an entry on every `fresh_every`-th request to it, at a phase of its own, so that
a sweep over many feeds meets the same share of 200s at any time. Everything else is a 304.
"""

import argparse
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Final
from zlib import crc32

from feedmill_demo.living_feed import EPOCH, LivingFeed
from feedmill_demo.render import http_date
from feedmill_demo.server.__main__ import publisher_parser, run_publisher
from feedmill_demo.server.script import Answer, Request
from feedmill_demo.server.site import Site, field

_PREFIX: Final = b"/load/"
_TEXTS: Final = 50  # different articles before their texts repeat


class LoadSite(Site):
    """Feeds of `entries` entries; `fresh_every=0` never changes, 1 changes on every request.

    With `close` every answer ends its connection, so that each request needs a fresh one.
    """

    def __init__(self, *, fresh_every: int = 20, entries: int = 30, close: bool = False) -> None:
        self.unchanged = 0  # 304s so far
        self.fresh = 0  # 200s so far
        self._fresh_every = fresh_every
        self._entries = entries
        self._close = close
        self._asked: dict[bytes, int] = {}
        self._origin = b""
        self._texts = _item_texts()

    def opened(self, origin: str) -> None:
        self._origin = origin.encode()

    def prebuilt(self, target: bytes, head: bytes) -> bytes | None:
        return None if self._close else self._octets(target, head)

    def answer(self, request: Request) -> Answer | None:
        # Only what the hot path does not take comes here: connections that end with the answer.
        lines = (f"{name}: {value}\r\n" for name, value in request.headers)
        octets = self._octets(request.target.encode(), f"\r\n{''.join(lines)}".encode())
        if octets is None:
            return None
        return Answer(raw=octets.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))

    def _octets(self, target: bytes, head: bytes) -> bytes | None:
        if not target.startswith(_PREFIX):
            return None
        number = target[len(_PREFIX) :]
        version = self._version(number)
        etag = b'"%b-%d"' % (number, version)
        if field(head, b"if-none-match") == etag:
            self.unchanged += 1
            return b"HTTP/1.1 304 Not Modified\r\nETag: %b\r\n\r\n" % etag
        self.fresh += 1
        return self._whole(number, version, etag)

    def _version(self, number: bytes) -> int:
        if self._fresh_every == 0:
            return 0
        phase = crc32(number) % self._fresh_every
        asked = self._asked.get(number, phase)
        self._asked[number] = asked + 1
        return asked // self._fresh_every

    def _whole(self, number: bytes, version: int, etag: bytes) -> bytes:
        home = b"%b/load/%b" % (self._origin, number)
        parts = [
            b'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"'
            b' xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
            b"<title>Feed %b</title><link>%b/</link><description>Load</description>\n"
            % (number, home)
        ]
        for article in range(version + self._entries - 1, version - 1, -1):
            link = b"%b/%d" % (home, article)
            text = self._texts[article % _TEXTS]
            parts += (
                b"<item><link>",
                link,
                b"</link><guid>",
                link,
                b"</guid>",
                _date(article),
                text,
            )
        body = b"".join((*parts, b"</channel></rss>\n"))
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nETag: %b\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (etag, len(body), body)
        )


def _item_texts() -> tuple[bytes, ...]:
    """The part of an item that is the same in every feed: title, text, tags."""
    feed = LivingFeed(seed="load", home="http://127.0.0.1/", window=_TEXTS)
    feed.publish(_TEXTS)
    items = feed.body().split(b"<item>\n")[1:]
    return tuple(_without_identity(item) for item in items)


def _without_identity(item: bytes) -> bytes:
    lines = item.partition(b"</item>")[0].split(b"\n")
    kept = (
        line for line in lines if not line.startswith((b"<link>", b"<guid", b"<pubDate>", b"<dc:"))
    )
    return b"\n".join(kept) + b"</item>\n"


@lru_cache(maxsize=4096)
def _date(article: int) -> bytes:
    moment = EPOCH + timedelta(minutes=article)
    return b"<pubDate>%b</pubDate>" % http_date(moment).encode()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the load site as a process."""
    parser = publisher_parser("python -m benchmarks.load_site", "Serve /load/<number> on loopback.")
    add = parser.add_argument
    add("--fresh-every", type=int, default=20, metavar="N", help="one request in N is a 200")
    add("--entries", type=int, default=30, help="entries per feed")
    add("--close", action="store_true", help="end every connection with its answer")
    run_publisher(parser.parse_args(arguments), _load_site)


def _load_site(options: argparse.Namespace) -> Site:
    return LoadSite(fresh_every=options.fresh_every, entries=options.entries, close=options.close)


if __name__ == "__main__":
    main()
